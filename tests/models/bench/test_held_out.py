"""What was fitted to rows of a table is marked and never ranked; its held-out build is taken."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from datasets import Dataset, concatenate_datasets

from pqpp_datasets.load import load_benchmark
from pqpp_models import Predictor, PredictorError, registry
from pqpp_models.bench.run import bench_split
from pqpp_models.bench.split import Split, find_fitted_rows
from pqpp_models.bench.tables import format_results
from pqpp_models.text.static import StaticPredictor

TARGETS = ("mean_hbpp", "mean_rr")
STATIC = "pqpp_models.text.static:StaticPredictor"


@pytest.fixture(scope="module")
def sample():
    return load_benchmark("sample")


@pytest.fixture(scope="module")
def builds(sample, tmp_path_factory):
    """A static that is fitted to train and test, and its build that is fitted to train."""
    folder = tmp_path_factory.mktemp("weights")
    for name, splits in {"static": ("train", "test"), "static-train": ("train",)}.items():
        one = StaticPredictor.from_shipped("static-train")
        one.record = replace(one.record, rows=None)
        for split in splits:
            one.record_fit(sample[split])
        if name == "static":
            one.record = replace(one.record, fitted_on_train="static-train")
            one.details["data"] = "sample, split train + test"
        one.save_pretrained(folder / name)
    return folder


@pytest.fixture
def shipped(builds, monkeypatch):
    monkeypatch.setattr(registry, "SHIPPED", builds)
    monkeypatch.setitem(registry.PREDICTORS, "static-train", STATIC)


def loaded(*names):
    return {name: Predictor.from_pretrained(name) for name in names}


def run(sample, *names, split="test", **options):
    return bench_split(Split.from_rows(sample[split]), loaded(*names), TARGETS, **options)


def test_the_build_that_did_not_learn_the_rows_is_taken(sample, shipped):
    found = run(sample, "static", "n_words")
    assert list(found.predictors) == ["static-train", "n_words"]
    told = [(r.predictor, r.stands_for, r.fitted_rows, r.ranked) for r in found.results]
    assert told[0] == ("static-train", "static", 0, True)
    assert told[-1] == ("n_words", None, 0, True)
    text = format_results("table", found.results)
    assert "static-train, fitted on train only, replaces static" in text
    assert "of these rows)" not in text


def test_a_build_without_the_targets_is_not_taken():
    """The release learned other studies, too, and has `alignment`, which stands for a rating."""
    release = Predictor.from_pretrained("static")
    prompts = [f"{number} blue zebras on a kettle" for number in range(8)]
    rows = Dataset.from_dict({"prompt": prompts, "flux_rating": [*range(8)]})
    release.record_fit(rows)
    (result,) = bench_split(Split.from_rows(rows), {"static": release}, ("flux_rating",)).results
    assert (result.predictor, result.stands_in, result.fitted_rows) == ("static", "alignment", 8)


def test_a_build_that_learned_fewer_is_taken_and_marked(sample, shipped):
    """As where both learned some prompts of another kind in the split."""
    joined = concatenate_datasets([sample["train"].select(range(5)), sample["test"]])
    found = bench_split(Split.from_rows(joined), loaded("static"), TARGETS)
    assert {(r.predictor, r.fitted_rows, r.ranked) for r in found.results} == {
        ("static-train", 5, False)
    }


def test_one_row_is_enough_and_every_cell_says_how_many(sample, shipped):
    """By source and target, only rows that a cell compares are counted; all its cells go out."""
    rows = sample["validation"]
    one = StaticPredictor.from_shipped("static")
    one.record = replace(one.record, rows=None, fitted_on_train=None)
    one.record_fit([rows["prompt"][7].upper()])
    values = list(rows["mean_rr"])
    values[7] = None
    table = rows.remove_columns("mean_rr").add_column("mean_rr", values)
    found = bench_split(Split.from_rows(table), {"mine": one}, TARGETS)
    assert [(r.target, r.n, r.fitted_rows, r.ranked) for r in found.results] == [
        ("mean_hbpp", 80, 1, False),
        ("mean_rr", 79, 0, False),
    ]


@pytest.fixture(scope="module")
def both(sample, builds):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "SHIPPED", builds)
        patch.setitem(registry.PREDICTORS, "static-train", STATIC)
        return run(sample, "static", "static-train", "n_words")


def test_no_format_ranks_what_learned_the_rows(both):
    texts = {
        style: format_results(style, both.results, both.get_published())
        for style in ("table", "markdown", "latex", "csv", "json")
    }
    name = "static (fitted to 80 of these rows)"
    for style in ("table", "markdown", "latex"):
        lines = texts[style].splitlines()
        at = next(n for n, line in enumerate(lines) if name in line)
        ours = [
            n
            for n, line in enumerate(lines)
            if line.replace("\\", "").lstrip("| ").startswith("n_words")
        ]
        assert ours[0] < at and "fitted to rows of this table, not ranked: static" in texts[style]
        means = [line for line in lines if "mean over" in line]
        assert len(means) == 1 and "static-train" in means[0] and " static " not in means[0]
    lines = texts["table"].splitlines()
    above = lines[next(n for n, line in enumerate(lines) if name in line) - 1]
    assert set(above) == {"-", " "}  # a rule
    latex = texts["latex"].splitlines()
    below = latex.index(r"\midrule", latex.index(r"\midrule") + 1)
    assert latex[below + 1].startswith(name) and latex[below + 2] == r"\bottomrule"
    rows = json.loads(texts["json"])["rows"]
    told = {(r["predictor"], r["fitted_rows"], r["ranked"]) for r in rows}
    assert told == {("static", 80, False), ("static-train", 0, True), ("n_words", 0, True)}
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    told = {(r["predictor"], r["fitted_rows"], r["ranked"]) for r in rows if r["n"] == "80"}
    assert ("static", "80", "False") in told and ("n_words", "0", "True") in told


def test_it_is_no_baseline_and_is_not_tested(both):
    with pytest.raises(PredictorError, match="'static' was fitted to 80 of these rows"):
        both.with_tests("static")
    tested = both.with_tests("n_words").results
    arrows = {r.predictor: np.isnan(r.baseline_p) for r in tested}
    assert arrows == {"static": True, "static-train": False, "n_words": True}


def test_the_build_is_the_baseline_where_it_was_taken(sample, shipped):
    tested = run(sample, "static", "n_words").with_tests("static").results
    assert {r.baseline for r in tested} == {"static-train"}


def test_ids_keep_two_captions_of_one_text_apart(shipped):
    one = StaticPredictor.from_shipped("static")
    one.record = replace(one.record, rows=None, fitted_on_train=None)
    one.record_fit({"prompt": ["A cat."], "prompt_id": ["mscoco-1"]})
    prompts = ["a cat", "a dog", "a red bus"]
    ids = ["mscoco-2", "mscoco-3", "mscoco-4"]
    for given, fitted in ((ids, 0), (None, 1), (["mscoco-1", *ids[1:]], 1)):
        rows = {"prompt": prompts} | ({"prompt_id": given} if given else {})
        assert find_fitted_rows(one, rows).sum() == fitted
