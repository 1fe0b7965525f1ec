"""GIMBRR's automated verdicts compared with people: published values and rankings."""

import csv

import numpy as np
import pytest
from support.benchmark_folders import write_gimbrr

from pqpp_cli.main import main
from pqpp_feedback.assess.agreement import compare_rankings, compute_agreement
from pqpp_feedback.gimbrr.bench import describe_order, group_agreement, join_verdicts
from pqpp_files.read_table import read_table

ALGORITHMS = {"Dalle": "dalle2", "MJ": "midjourney", "SD2.1": "sd2.1", "SD1.5": "sd1.5"}


@pytest.fixture(scope="module")
def published(real_data):
    """The rows of the published files, read without the code under test."""

    def read(name):
        with (real_data / "gimbrr" / "annotations" / name).open(newline="") as file:
            return list(csv.DictReader(file))

    def identify(row):
        return {"model": ALGORITHMS[row["Algorithm"]], "prompt_id": row["Prompt_no"]}

    annotations = [
        identify(row) | {"task": row["Task"], "matched": row["annotation"] == "True"}
        for row in read("annotations_df_230311.csv")
    ]
    automated = [
        identify(row) | {"verdict": row["Score"] == "True"}
        for row in read("automated_annotations.csv")
    ]
    return annotations, automated, read("automated_f1.csv")


@pytest.mark.realdata
def test_f1_equals_published_values(published):
    annotations, automated, pairs = published
    rows = join_verdicts(annotations, automated)
    assert len(rows) == 3860 and len(pairs) == 24
    agreement = {(r["task"], r["model"]): r for r in group_agreement(rows, ["task", "model"])}
    for pair in pairs:
        row = agreement[pair["task"], ALGORITHMS[pair["algorithm"]]]
        assert row["f1_true"] == pytest.approx(float(pair["f1_true"]), abs=1e-6)
        assert row["f1_false"] == pytest.approx(float(pair["f1_false"]), abs=1e-6)


@pytest.mark.realdata
def test_agreement_by_task_matches_scikit_learn(published):
    metrics = pytest.importorskip("sklearn.metrics")
    annotations, automated, _ = published
    rows = join_verdicts(annotations, automated)
    for row in group_agreement(rows, ["task"]):
        task_rows = [one for one in rows if one["task"] == row["task"]]
        people, verdicts = ([r[name] for r in task_rows] for name in ("people", "verdict"))
        rates = row["people"][0], row["automated"][0]
        assert row["n"] == len(task_rows)
        assert rates == pytest.approx((np.mean(people), np.mean(verdicts)), abs=1e-12)
        assert row["kappa"] == pytest.approx(metrics.cohen_kappa_score(people, verdicts), abs=1e-12)
        assert row["accuracy"] == pytest.approx(metrics.accuracy_score(people, verdicts))
        for name, label in (("f1_true", True), ("f1_false", False)):
            expected = metrics.f1_score(people, verdicts, pos_label=label, zero_division=0)
            assert row[name] == pytest.approx(expected)


@pytest.mark.realdata
def test_automation_ranks_another_model_first(published):
    annotations, automated, _ = published
    rows = join_verdicts(annotations, automated)
    columns = [[row[name] for row in rows] for name in ("verdict", "people", "model", "prompt_id")]
    order = compare_rankings(*columns, resamples=500)
    assert list(order["by_people"]) == ["dalle2", "midjourney", "sd1.5", "sd2.1"]
    assert list(order["by_automation"])[:2] == ["midjourney", "dalle2"]
    rates = [*order["by_people"].values(), *order["by_automation"].values()]
    expected = [0.686, 0.604, 0.483, 0.439, 0.637, 0.635, 0.613, 0.581]
    assert rates == pytest.approx(expected, abs=6e-4)
    assert "ranks midjourney first, people rank dalle2 first" in describe_order(order)[0]
    first = order["pairs"][0]
    assert (first["better"], first["worse"], first["survives"]) == ("dalle2", "midjourney", False)
    assert first["people"][1] > 0 > first["automated"][1]


def test_compare_rankings_agrees_with_brute_force():
    random = np.random.default_rng(1)
    prompts = np.repeat(np.arange(6), 3)
    models = np.tile(np.array(["a", "b", "c"]), 6)
    people, verdicts = random.random((2, 18)) < 0.5
    result = compare_rankings(verdicts, people, models, prompts, resamples=300, seed=4)
    resamples = np.random.default_rng(4).multinomial(6, np.full(6, 1 / 6), size=300)
    same = 0
    for weights in resamples:
        orders = []
        for values in (people, verdicts):
            sums = [(weights[prompts] * values)[models == n].sum() for n in "abc"]
            orders.append(sorted(range(3), key=lambda n, sums=sums: (-sums[n], n)))
        same += orders[0] == orders[1]
    assert result["same_order"] == pytest.approx(same / 300)


def test_bench_command_writes_tables(tmp_path, cache, capsys):
    write_gimbrr(tmp_path / "gimbrr")
    words = ["bench", "gimbrr", "--data-dir", str(tmp_path / "gimbrr")]
    assert main([*words, "--output", str(tmp_path / "t.csv")]) == 0
    assert set(read_table(tmp_path / "t.csv")["table"]) >= {"rates", "pairs"}
    assert main([*words, "--predictors", "n_words"]) == 2
    assert "unknown argument --predictors" in capsys.readouterr().err


def test_compute_agreement_by_hand():
    figures = compute_agreement([True, True, True, False], [True, False, False, False])
    # Expected by chance: .75 * .25 + .25 * .75 = .375, observed .5.
    assert figures["kappa"] == pytest.approx((0.5 - 0.375) / (1 - 0.375))
    assert (figures["f1_true"], figures["f1_false"]) == (0.5, 0.5)
    assert (figures["people"][0], figures["automated"][0], figures["bias"]) == (0.25, 0.75, 0.5)
