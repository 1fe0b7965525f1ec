"""`pqpp bench` and its protocol."""

import json
import re

import datasets
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.processes import run_pqpp

from pqpp_models.bench.protocol import (
    Predictions,
    compare_with_baseline,
    evaluate_predictions,
    read_published,
)
from pqpp_models.bench.split import Split
from pqpp_models.bench.tables import format_results, mark_p_value

SAMPLE = ("--dataset", "sample", "--split", "test", "--predictors", "static")
SPLIT = Split(None, "x", "y")


@pytest.fixture
def home(tmp_path):
    return {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}


def bench(*arguments, cwd, home):
    done = run_pqpp("bench", *arguments, cwd=cwd, **home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_predictions(n=50, seed=0):
    generator = np.random.default_rng(seed)
    true = generator.normal(size=n)
    values = np.column_stack([true + generator.normal(size=n), generator.normal(size=n)])
    predictions = Predictions("mine", ("mean_hbpp", "mean_rr"), values)
    partial = [None if i % 5 == 0 else x for i, x in enumerate(true)]
    return predictions, {"mean_hbpp": list(true), "mean_rr": partial}


def test_results_agree_with_scipy_and_skip_nulls():
    mine, references = make_predictions()
    full, partial = evaluate_predictions([mine], references, SPLIT)
    pearson = stats.pearsonr(mine.values[:, 0], references["mean_hbpp"])
    assert full.n == 50 and full.pearson == pytest.approx(pearson.statistic, abs=1e-12)
    assert full.pearson_p == pytest.approx(pearson.pvalue, rel=1e-9)
    # The interval is computed from leave-one-out correlations.
    columns = np.array([mine.values[:, 0], references["mean_hbpp"]])
    jack = [stats.pearsonr(*np.delete(columns, i, axis=1)).statistic for i in range(50)]
    spread, kurtosis = np.std(np.arctanh(jack)), stats.kurtosis(np.arctanh(jack), fisher=False)
    margin = 7 * spread * stats.t.ppf(0.975, min(49, 100 / (kurtosis - 1)))
    ends = np.tanh(np.arctanh(pearson.statistic) + np.array([-margin, margin]))
    assert (full.pearson_ci_low, full.pearson_ci_high) == pytest.approx(tuple(ends), abs=1e-9)
    known = [i for i in range(50) if i % 5]
    tau = stats.kendalltau(mine.values[known, 1], np.array(references["mean_rr"], float)[known])
    assert partial.n == 40 and partial.kendall == pytest.approx(tau.statistic, abs=1e-12)
    assert partial.kendall_p == pytest.approx(tau.pvalue, rel=1e-9)


def test_kendall_p_value_of_few_prompts_is_exact():
    """Eight of 66 pairs are discordant; Student's t would give p = .0043, so one mark less."""
    predicted = np.array([2.0, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10])
    predictions = Predictions("few", ("mean_rr",), predicted[:, None])
    (row,) = evaluate_predictions([predictions], {"mean_rr": list(range(12))}, SPLIT)
    exact = stats.kendalltau(predicted, range(12), method="exact")
    assert row.kendall == pytest.approx(exact.statistic) and exact.pvalue < 0.001
    assert row.kendall_p == pytest.approx(exact.pvalue, rel=1e-9)
    assert ".758‡" in format_results("table", [row])


def test_constant_predictions_are_undefined_not_zero():
    predictions = Predictions("flat", ("mean_rr",), np.ones((5, 1)))
    (result,) = evaluate_predictions([predictions], {"mean_rr": [0.1, 0.2, 0.3, 0.4, 0.5]}, SPLIT)
    assert np.isnan(result.pearson) and np.isnan(result.kendall) and result.n == 5
    table = format_results("table", [result])
    assert "predictor" not in table and "no correlation of flat with mean_rr" in table
    assert json.loads(format_results("json", [result]))["rows"][0]["pearson"] is None


def test_mean_needs_all_columns():
    """A predictor with only the easy columns must not look better than one with all columns."""
    true = {f"{name}_hbpp": [0.0, 0.5, 1.0, 1.5] for name in ("glide", "sdxl", "mean")}
    upwards = np.arange(4.0)[:, None]
    all_three = Predictions("all_three", tuple(true), np.hstack([upwards, upwards, -upwards]))
    two = Predictions("two", tuple(true)[:2], np.hstack([upwards, -upwards]))
    text = format_results("table", evaluate_predictions([all_three, two], true, SPLIT))
    means = [line for line in text.splitlines() if line.startswith("mean over")]
    assert means == ["mean over all 3 columns, Pearson / Kendall: all_three 0.333 / 0.333"]


def test_published_figures_are_those_of_the_papers(real_data):
    paper = json.loads((real_data.parent / "papers" / "published_results.json").read_text())["pqpp"]
    ours = {(r.predictor, r.target, r.config): [r.pearson, r.kendall] for r in read_published()}
    for key, config in (("table3_main", "pqpp"), ("repository_v1.0_test_2000", "pqpp-v1.0")):
        table = paper[key]
        for name, values in table.items():
            if isinstance(values, list) and name != "columns":
                for target, value in zip(table["columns"], values, strict=True):
                    assert ours.pop((name, target, config)) == value
    for name, value in paper["repository_v1.0_test_2000"]["ego_network_generation"].items():
        assert ours.pop((name, "mean_hbpp", "pqpp-v1.0")) == value
    assert not ours


def test_report_is_self_contained_and_reproducible(tmp_path, home):
    report = ("--report", "report.html", "--no-tsne")
    rows = json.loads(bench(*SAMPLE, *report, "--format", "json", cwd=tmp_path, home=home))["rows"]
    page = (tmp_path / "report.html").read_text()
    for row in rows:
        for name in ("pearson", "kendall"):
            figure = f"{row[name]:.3f}{mark_p_value(row[f'{name}_p'])}"
            ends = [f"{row[f'{name}_ci_{end}']:.3f}" for end in ("low", "high")]
            assert f'{figure}<span class="ci">{" to ".join(ends)}</span></td>' in page
    assert page.count('<th scope="row">static</th>') == 3  # one table per measure
    assert page.count('<svg viewBox="0 0 320 248" role="img"') == 9 and "Generated data." in page
    assert "finetuned_bert" not in page and "http" not in re.sub(r"base64,[^\"]*", "", page)
    (again := tmp_path / "again").mkdir()
    bench(*SAMPLE, *report, cwd=again, home=home)
    assert (again / "report.html").read_text() == page


@pytest.mark.parametrize(("splits", "split"), [(["train", "test"], "test"), (["train"], "train")])
def test_default_split_is_test_or_the_only_one(splits, split, tmp_path, home):
    (tmp_path / "own").mkdir()
    for name in splits:
        text = "prompt,mean_rr\na cat,0.5\na red dog,0.2\ntwo big dogs,0.1\n"
        (tmp_path / "own" / f"{name}.csv").write_text(text)
    words = ("--dataset", "own", "--predictors", "mean_word_length")
    assert f"rows: own, {split} split" in bench(*words, cwd=tmp_path, home=home)


def test_missing_resources_skip_only_default_predictors(tmp_path, home):
    arguments = ("--dataset", "sample", "--split", "test")
    empty = {**home, "NLTK_DATA": str(tmp_path), "HOME": str(tmp_path)}
    done = run_pqpp("bench", *arguments, cwd=tmp_path, **empty)
    assert done.returncode == 0 and "static" in done.stdout
    assert "note: skipped" in done.stderr and "nltk.downloader" in done.stderr
    named = run_pqpp("bench", *arguments, "--predictors", "linguistic", cwd=tmp_path, **empty)
    assert named.returncode == 2 and "nltk.downloader" in named.stderr


@pytest.mark.realdata
def test_static_correlations_on_validation(real_data, tmp_path, home):
    data = str(real_data / "pqpp" / "v1.0")
    words = ("--data-dir", data, "--predictors", "static-train", "--format", "json")
    table = pd.DataFrame(json.loads(bench(*words, cwd=tmp_path, home=home))["rows"])
    assert (table["n"] == 2000).all()
    assert table["pearson"].mean() >= 0.45 and table["kendall"].mean() >= 0.31


def test_cross_table_cells_use_the_predicted_column():
    from pqpp_models.bench.protocol import Column

    predictions, references = make_predictions()
    cell = Column("mean_rr→mean_hbpp", "mean_rr", "mean_hbpp", "a")
    rows = datasets.Dataset.from_dict({"source": ["a" if i % 2 else "b" for i in range(50)]})
    (result,) = evaluate_predictions([predictions], references, Split(rows, "x", "y"), [cell])
    odd_rows = slice(1, None, 2)
    expected = stats.pearsonr(predictions.values[odd_rows, 1], references["mean_hbpp"][odd_rows])
    assert result.n == 25 and result.pearson == pytest.approx(expected.statistic, abs=1e-12)


def test_signs_are_aligned_before_comparison():
    generator = np.random.default_rng(0)
    true = generator.normal(size=400)
    noisy = [true + generator.normal(size=400) for _ in range(4)]
    predictions = [
        Predictions("easier", ("mean_rr",), noisy[0][:, None]),
        Predictions("harder", ("mean_rr",), -noisy[1][:, None], "harder"),
        Predictions("train", ("mean_rr",), -noisy[2][:, None], "unknown"),
        Predictions("nobody", ("mean_rr",), -noisy[3][:, None], "unknown"),
        Predictions("wrong", ("mean_rr",), noisy[3][:, None], "harder"),
    ]
    rows = evaluate_predictions(predictions, references := {"mean_rr": list(true)}, SPLIT)
    signs = {("train", "mean_rr"): -1.0, ("harder", "mean_rr"): -1.0}
    declared = "as the predictor declares"
    results = compare_with_baseline(rows, predictions, references, "easier", known_signs=signs)
    negated = ["by the sign on train, negated"] * 2
    orientations = [declared, *negated, "as given", f"{declared}, negated"]
    assert [row.oriented for row in results] == orientations
    tau = [abs(stats.kendalltau(p.values[:, 0], true).statistic) for p in predictions]
    expected = [value - tau[0] for value in (*tau[1:3], -tau[3], -tau[4])]
    differences = [row.baseline_difference for row in results[1:]]
    assert differences == pytest.approx(expected, abs=1e-9)
    assert max(map(abs, differences[:2])) < 0.1 and results[4].baseline_p < 0.01
    text = format_results("table", results)
    assert "negated in differences: harder on mean_rr (by the sign on train); train on" in text


def test_baseline_is_compared_on_prompts_that_both_predict():
    true, values = np.random.default_rng(5).normal(size=(2, 60))
    columns = {name: values + true for name in ("first", "second")} | {"all": values + 2 * true}
    columns["first"][0] = columns["second"][59] = np.nan  # as from a chat model's invalid replies
    predictions = [Predictions(n, ("mean_rr",), column[:, None]) for n, column in columns.items()]
    rows = evaluate_predictions(predictions, references := {"mean_rr": list(true)}, SPLIT)
    same, _, better = compare_with_baseline(rows, predictions, references, "second")
    assert (same.baseline_difference, same.baseline_p) == (0.0, 1.0)
    taus = [stats.kendalltau(columns[n][:59], true[:59]).statistic for n in ("all", "second")]
    assert better.baseline_difference == pytest.approx(taus[0] - taus[1], abs=1e-12)


def test_baseline_agrees_with_scipy_permutation_test():
    generator = np.random.default_rng(3)
    true = generator.normal(size=300)
    good = Predictions("good", ("mean_rr",), (true + generator.normal(size=300))[:, None])
    poor = Predictions("poor", ("mean_rr",), (true + 4 * generator.normal(size=300))[:, None])
    same = Predictions("same", ("mean_rr",), poor.values)
    fair = Predictions("some", ("mean_rr",), (true + 3 * generator.normal(size=300))[:, None])
    predictions, references = [good, poor, same, fair], {"mean_rr": list(true)}
    rows = evaluate_predictions(predictions, references, SPLIT)
    first, second, third, fourth = compare_with_baseline(rows, predictions, references, "poor")
    # No swap of 2,000 reaches the difference of `good`; Holm's correction covers three tests.
    assert first.baseline_p == pytest.approx(3 / 2 / 2001)

    def difference(a, b):
        return stats.kendalltau(a, true).statistic - stats.kendalltau(b, true).statistic

    scipy_test = stats.permutation_test(
        [p.values[:, 0] / p.values.std() for p in (fair, poor)],
        difference,
        permutation_type="samples",
        n_resamples=2000,
        rng=np.random.default_rng(0),
    )
    assert 0.02 < scipy_test.pvalue < 0.98
    assert fourth.baseline_p == pytest.approx(min(1, 2 * scipy_test.pvalue), abs=0.06)
    assert np.isnan(second.baseline_p) and third.baseline_p == 1.0
    text = format_results("table", [first, second, third])
    assert "paired permutation test" in text
    assert text.count("↑") == 2 and "better and ↓ worse than poor" in text
    assert r"$^\ddagger$$^\uparrow$ \\" in format_results("latex", [first, second, third])
