"""GIMBRR's automated verdicts beside people's: the published figures, and what they mean."""

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

    def rows(name):
        with (real_data / "gimbrr" / "annotations" / name).open(newline="") as file:
            return list(csv.DictReader(file))

    annotations, automated = rows("annotations_df_230311.csv"), rows("automated_annotations.csv")
    return (
        [
            {
                "task": row["Task"],
                "model": ALGORITHMS[row["Algorithm"]],
                "prompt_id": row["Prompt_no"],
                "matched": row["annotation"] == "True",
            }
            for row in annotations
        ],
        [
            {
                "model": ALGORITHMS[row["Algorithm"]],
                "prompt_id": row["Prompt_no"],
                "verdict": row["Score"] == "True",
            }
            for row in automated
        ],
        rows("automated_f1.csv"),
    )


@pytest.mark.realdata
def test_the_24_published_pairs_of_f1(published):
    annotations, automated, pairs = published
    rows = join_verdicts(annotations, automated)
    assert len(rows) == 3860 and len(pairs) == 24
    found = {(row["task"], row["model"]): row for row in group_agreement(rows, ["task", "model"])}
    for pair in pairs:
        row = found[pair["task"], ALGORITHMS[pair["algorithm"]]]
        assert row["f1_true"] == pytest.approx(float(pair["f1_true"]), abs=1e-6)
        assert row["f1_false"] == pytest.approx(float(pair["f1_false"]), abs=1e-6)


KNOWN = {  # n, rate by people, rate by automation, accuracy, kappa
    "Single object": (2008, 0.819, 0.959, 0.848, 0.265),
    "Multiple objects": (400, 0.258, 0.533, 0.585, 0.195),
    "Conditional generation": (252, 0.413, 0.345, 0.766, 0.505),
    "Negation": (400, 0.460, 0.205, 0.595, 0.150),
    "Counting": (400, 0.250, 0.130, 0.820, 0.429),
    "Simple arithmetic": (400, 0.000, 0.053, 0.948, 0.000),
}


@pytest.mark.realdata
def test_agreement_by_task_is_that_of_scikit_learn(published):
    metrics = pytest.importorskip("sklearn.metrics")
    annotations, automated, _ = published
    rows = join_verdicts(annotations, automated)
    for row in group_agreement(rows, ["task"]):
        some = [one for one in rows if one["task"] == row["task"]]
        people, said = ([one[name] for one in some] for name in ("people", "verdict"))
        known = KNOWN[row["task"]]
        rates = row["people"][0], row["automated"][0]
        assert [row["n"], *rates, row["accuracy"], row["kappa"]] == pytest.approx(known, abs=6e-4)
        assert row["kappa"] == pytest.approx(metrics.cohen_kappa_score(people, said), abs=1e-12)
        assert row["accuracy"] == pytest.approx(metrics.accuracy_score(people, said))
        for name, label in (("f1_true", True), ("f1_false", False)):
            expected = metrics.f1_score(people, said, pos_label=label, zero_division=0)
            assert row[name] == pytest.approx(expected)


@pytest.mark.realdata
def test_automation_puts_another_model_first(published):
    annotations, automated, _ = published
    rows = join_verdicts(annotations, automated)
    columns = [[row[name] for row in rows] for name in ("verdict", "people", "model", "prompt_id")]
    found = compare_rankings(*columns, resamples=500)
    assert list(found["by_people"]) == ["dalle2", "midjourney", "sd1.5", "sd2.1"]
    assert list(found["by_automation"])[:2] == ["midjourney", "dalle2"]
    rates = [*found["by_people"].values(), *found["by_automation"].values()]
    expected = [0.686, 0.604, 0.483, 0.439, 0.637, 0.635, 0.613, 0.581]
    assert rates == pytest.approx(expected, abs=6e-4)
    assert "ranks midjourney first, people rank dalle2 first" in describe_order(found)[0]
    first = found["pairs"][0]
    assert (first["better"], first["worse"], first["survives"]) == ("dalle2", "midjourney", False)
    assert first["people"][1] > 0 > first["automated"][1]


def test_a_ranking_is_drawn_over_prompts_and_equals_brute_force():
    random = np.random.default_rng(1)
    prompts = np.repeat(np.arange(6), 3)
    models = np.tile(np.array(["a", "b", "c"]), 6)
    people, said = random.random((2, 18)) < 0.5
    found = compare_rankings(said, people, models, prompts, resamples=300, seed=4)
    drawn = np.random.default_rng(4).multinomial(6, np.full(6, 1 / 6), size=300)
    same = 0
    for weights in drawn:
        orders = []
        for values in (people, said):
            of = [
                sum(
                    weights[p] * v
                    for p, v, m in zip(prompts, values, models, strict=True)
                    if m == n
                )
                for n in "abc"
            ]
            orders.append(sorted(range(3), key=lambda n, of=of: (-of[n], n)))
        same += orders[0] == orders[1]
    assert found["same_order"] == pytest.approx(same / 300)


def test_the_command_prints_the_tables(tmp_path, cache, capsys):
    write_gimbrr(tmp_path / "gimbrr")
    words = ["bench", "gimbrr", "--data-dir", str(tmp_path / "gimbrr")]
    assert main([*words, "--output", str(tmp_path / "t.csv")]) == 0
    assert set(read_table(tmp_path / "t.csv")["table"]) >= {"rates", "pairs"}
    assert main([*words, "--predictors", "n_words"]) == 2
    assert "unknown argument --predictors" in capsys.readouterr().err


def test_agreement_by_hand():
    found = compute_agreement([True, True, True, False], [True, False, False, False])
    # Expected by chance: .75 * .25 + .25 * .75 = .375, observed .5.
    assert found["kappa"] == pytest.approx((0.5 - 0.375) / (1 - 0.375))
    assert (found["f1_true"], found["f1_false"]) == (0.5, 0.5)
    assert (found["people"][0], found["automated"][0], found["bias"]) == (0.25, 0.75, 0.5)
