"""Predictors on prompts of another kind: pooled and within groups."""

import json

import numpy as np
import pytest
from scipy import stats

from pqpp_models import Predictor
from pqpp_models.bench.generalisation import evaluate_generalisation
from pqpp_models.scored_prompts import ScoredPrompts, gimbrr_match_rates


class Told(Predictor):
    """Says what it was told about each prompt."""

    name = "told"

    def __init__(self, values, target="mean_hbpp"):
        self.values, self.targets = values, (target,)

    def _score(self, rows, targets):
        assert targets == self.targets
        return np.array([[self.values[prompt]] for prompt in rows])

    @classmethod
    def from_checkpoint(cls, folder, config, tensors):
        """Return nothing: it is never saved."""


def scored():
    generator = np.random.default_rng(0)
    prompts = [f"p{i}" for i in range(40)]
    groups = ["easy"] * 18 + ["hard"] * 18 + ["constant"] * 4
    offsets = {"easy": 2, "hard": 0, "constant": 0}
    scores = [offsets[g] + generator.normal() if g != "constant" else 0.5 for g in groups]
    return ScoredPrompts("set", prompts, scores, groups)


def test_pooled_and_within_groups_agree_with_scipy():
    one = scored()
    values = {p: s + n for p, s, n in zip(one.prompts, one.scores, np.arange(40) % 7, strict=True)}
    (result,), _ = evaluate_generalisation({"told": Told(values)}, [one])
    predicted = [values[prompt] for prompt in one.prompts]
    assert result.spearman == pytest.approx(stats.spearmanr(predicted, one.scores).statistic)
    parts = [
        stats.spearmanr(predicted[a:b], one.scores[a:b]).statistic for a, b in ((0, 18), (18, 36))
    ]
    assert result.spearman_within_groups == pytest.approx(np.mean(parts)) and result.groups == 2
    assert result.spearman_ci_low < result.spearman < result.spearman_ci_high


def test_knowing_the_group_only_is_worth_nothing_within():
    one = scored()
    values = {p: {"easy": 1.0}.get(g, 0.0) for p, g in zip(one.prompts, one.groups, strict=True)}
    (result,), _ = evaluate_generalisation({"told": Told(values)}, [one])
    assert result.spearman > 0.4 and result.spearman_within_groups == 0.0


def test_match_rates_count_each_model_once_and_leave_controlled_tasks_out():
    def row(prompt_id, matched, task="Counting"):
        return {"prompt_id": prompt_id, "prompt": f"p{prompt_id}", "task": task, "matched": matched}

    annotations = {
        "a": [row(1, True), row(1, False), row(2, False), row(3, True, "Controlled counting")],
        "b": [row(1, False), row(2, False)],
        "c": [row(1, True)],
    }
    found = gimbrr_match_rates(annotations)
    assert (found.prompts, found.groups) == (["p1", "p2"], ["Counting", "Counting"])
    assert found.scores == [pytest.approx(2 / 3), 0.0]


@pytest.mark.realdata
def test_word_count_on_gimbrr_as_known(real_data, cache):
    from datasets import load_dataset

    rows = load_dataset("pqpp", "gimbrr-annotations", data_dir=str(real_data / "gimbrr"))
    rates = gimbrr_match_rates(rows)
    count = {"words": Told({p: -len(p.split()) for p in rates.prompts}, "mean_rate")}
    (words,), _ = evaluate_generalisation(count, [rates])
    assert words.n == 1602 and words.spearman == pytest.approx(0.63, abs=0.01)
    static = {"static": Predictor.from_pretrained("static")}  # which learned from these rates
    ours, notes = evaluate_generalisation(static, [rates], "alignment")
    assert ours == [] and notes[0].startswith("without static-train on gimbrr: it predicts glide_")


@pytest.fixture
def table(capsys, cache, monkeypatch, tmp_path):
    """Run the command: its status, what it printed and what it said."""
    from pqpp_cli.main import main

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        table = ("bench", "--table", "generalisation", "--predictors", "static")
        status = main((*table, "--format", "json", *arguments))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.mark.parametrize("below", ["", "pqpp/v1.1"])
def test_the_folder_that_is_named_is_read(table, tmp_path, below):
    from support.pqpp_folders import write_v1_1

    from pqpp_models import Predictor

    write_v1_1(tmp_path / "root" / below)
    status, out, err = table("--data-dir", "root", "--split", "validation")
    assert status == 0 and all(line.startswith("pqpp: note: ") for line in err.splitlines())
    rows = {row["prompts"]: row for row in json.loads(out)["rows"]}
    # Three prompts of MS COCO a split, and one of DrawBench in each of two.
    assert {name: row["n"] for name, row in rows.items()} == {
        "mscoco (validation)": 3,
        "drawbench": 2,
    }
    prompts = ["A cat.", "Two dogs\n", "No match"]
    said = Predictor.from_pretrained("static").predict(prompts, "mean_hbpp")
    expected = stats.spearmanr(said[:, 0], [1.0, 1.5, 2.0]).statistic
    assert rows["mscoco (validation)"]["spearman"] == pytest.approx(expected)
