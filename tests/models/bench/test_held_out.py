"""Predictors fitted to rows of a table: marked, unranked, or replaced by their held-out build."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from datasets import Dataset, concatenate_datasets
from scipy import stats

from pqpp_datasets.load import load_benchmark
from pqpp_models import Predictor, PredictorError, registry
from pqpp_models.bench.run import bench_split
from pqpp_models.bench.split import Split, find_fitted_rows
from pqpp_models.bench.tables import format_results
from pqpp_models.text.static import StaticPredictor

TARGETS = ("mean_hbpp", "mean_rr")
FLUX = ("glide_hbpp", "flux_hbpp")
STATIC = "pqpp_models.text.static:StaticPredictor"


@pytest.fixture(scope="module")
def sample():
    return load_benchmark("sample")


@pytest.fixture(scope="module")
def builds(sample, tmp_path_factory):
    """Save a predictor fitted to train and test, and its build fitted to train only."""
    folder = tmp_path_factory.mktemp("weights")
    for name, splits in {"static": ("train", "test"), "static-train": ("train",)}.items():
        predictor = StaticPredictor.from_shipped("static-train")
        predictor.record = replace(predictor.record, rows=None)
        for split in splits:
            predictor.record_fit(sample[split])
        if name == "static":
            predictor.record = replace(predictor.record, fitted_on_train="static-train")
            predictor.details["data"] = "sample, split train + test"
        predictor.save_pretrained(folder / name)
    return folder


@pytest.fixture
def shipped(builds, monkeypatch):
    monkeypatch.setattr(registry, "SHIPPED", builds)
    monkeypatch.setitem(registry.PREDICTORS, "static-train", STATIC)


def load_predictors(*names):
    return {name: Predictor.from_pretrained(name) for name in names}


def run_bench(sample, *names, split="test", **options):
    return bench_split(Split.from_rows(sample[split]), load_predictors(*names), TARGETS, **options)


def test_replaces_predictor_fitted_to_rows(sample, shipped):
    result = run_bench(sample, "static", "n_words")
    assert list(result.compared.predictors) == ["static-train", "n_words"]
    facts = [(r.predictor, r.stands_for, r.fitted_rows, r.ranked) for r in result.results]
    assert facts[0] == ("static-train", "static", 0, True)
    assert facts[-1] == ("n_words", None, 0, True)


def test_keeps_predictor_if_its_build_lacks_the_targets():
    """The release was also fitted to other studies and has `alignment`, a stand-in for ratings."""
    release = Predictor.from_pretrained("static")
    prompts = [f"{number} blue zebras on a kettle" for number in range(8)]
    source = [{"url": "example.org"}] * 8  # others may keep an object there
    rows = Dataset.from_dict({"prompt": prompts, "flux_rating": [*range(8)], "source": source})
    release.record_fit(rows)
    (result,) = bench_split(Split.from_rows(rows), {"static": release}, ("flux_rating",)).results
    assert (result.predictor, result.stands_in, result.fitted_rows) == ("static", "alignment", 8)


def test_only_the_target_that_a_predictor_lacks_is_replaced(sample):
    rows = sample["test"].rename_column("sdxl_hbpp", "flux_hbpp")
    results = bench_split(Split.from_rows(rows), load_predictors("static-train"), FLUX).results
    assert [one.stands_in for one in results] == [None, "mean_hbpp"]
    predicted = load_predictors("static-train")["static-train"].predict(rows, "mean_hbpp")[:, 0]
    tau = stats.kendalltau(predicted, rows["flux_hbpp"][:], nan_policy="omit").statistic
    assert results[1].kendall == pytest.approx(tau, abs=1e-12)


def test_replacement_fitted_to_some_rows_is_unranked(sample, shipped):
    joined = concatenate_datasets([sample["train"].select(range(5)), sample["test"]])
    result = bench_split(Split.from_rows(joined), load_predictors("static"), TARGETS)
    assert {(r.predictor, r.fitted_rows, r.ranked) for r in result.results} == {
        ("static-train", 5, False)
    }


def test_counts_fitted_rows_per_cell(sample, shipped):
    """A cell counts only its own rows; one fitted row makes all cells of the predictor unranked."""
    rows = sample["validation"]
    predictor = StaticPredictor.from_shipped("static")
    predictor.record = replace(predictor.record, rows=None, fitted_on_train=None)
    predictor.record_fit([rows["prompt"][7].upper()])
    values = list(rows["mean_rr"])
    values[7] = None
    table = rows.remove_columns("mean_rr").add_column("mean_rr", values)
    result = bench_split(Split.from_rows(table), {"mine": predictor}, TARGETS)
    assert [(r.target, r.n, r.fitted_rows, r.ranked) for r in result.results] == [
        ("mean_hbpp", 80, 1, False),
        ("mean_rr", 79, 0, False),
    ]


@pytest.fixture
def comparison(sample, shipped):
    return run_bench(sample, "static", "static-train", "n_words")


def test_formats_list_fitted_predictors_last(comparison):
    texts = {
        style: format_results(style, comparison.results, comparison.get_published())
        for style in ("table", "markdown", "latex", "csv", "json")
    }
    name = "static (fitted to 80 of these rows)"
    for style in ("table", "markdown", "latex"):
        lines = texts[style].splitlines()
        starts = [line.replace("\\", "").lstrip("| ") for line in lines]
        last = next(n for n, line in enumerate(lines) if name in line)
        assert next(n for n, start in enumerate(starts) if start.startswith("n_words")) < last
        assert "fitted to rows of this table, not ranked: static" in texts[style]
        means = [line for line in lines if "mean over" in line]
        assert len(means) == 1 and "static-train" in means[0] and " static " not in means[0]
    lines = texts["table"].splitlines()
    previous = lines[next(n for n, line in enumerate(lines) if name in line) - 1]
    assert set(previous) == {"-", " "}  # a rule
    latex = texts["latex"].splitlines()
    rule = latex.index(r"\midrule", latex.index(r"\midrule") + 1)
    assert latex[rule + 1].startswith(name) and latex[rule + 2] == r"\bottomrule"
    rows = json.loads(texts["json"])["rows"]
    facts = {(r["predictor"], r["fitted_rows"], r["ranked"]) for r in rows}
    assert facts == {("static", 80, False), ("static-train", 0, True), ("n_words", 0, True)}
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    facts = {(r["predictor"], r["fitted_rows"], r["ranked"]) for r in rows if r["n"] == "80"}
    assert ("static", "80", "False") in facts and ("n_words", "0", "True") in facts


def test_fitted_predictor_is_neither_baseline_nor_tested(comparison):
    with pytest.raises(PredictorError, match="'static' was fitted to 80 of these rows"):
        comparison.with_tests("static")
    arrows = {r.predictor: np.isnan(r.baseline_p) for r in comparison.with_tests("n_words").results}
    assert arrows == {"static": True, "static-train": False, "n_words": True}


def test_build_replaces_fitted_baseline(sample, shipped):
    tested = run_bench(sample, "static", "n_words").with_tests("static").results
    assert {r.baseline for r in tested} == {"static-train"}


def test_ids_distinguish_duplicate_captions(shipped):
    predictor = StaticPredictor.from_shipped("static")
    predictor.record = replace(predictor.record, rows=None, fitted_on_train=None)
    predictor.record_fit({"prompt": ["A cat."], "prompt_id": ["mscoco-1"]})
    prompts = ["a cat", "a dog", "a red bus"]
    ids = ["mscoco-2", "mscoco-3", "mscoco-4"]
    for row_ids, fitted in ((ids, 0), (None, 1), (["mscoco-1", *ids[1:]], 1)):
        rows = {"prompt": prompts} | ({"prompt_id": row_ids} if row_ids else {})
        assert find_fitted_rows(predictor, rows).sum() == fitted
