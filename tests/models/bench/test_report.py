"""The parts of a report: axes, scatter plots, ranking, summary, extreme prompts, differences."""

import re

import numpy as np
import pytest
from datasets import Dataset
from scipy import stats

from pqpp_models.bench.charts import (
    MOST_POINTS,
    Axis,
    find_main_column,
    group_by_prediction,
    make_scatter_panel,
    rank_rows,
)
from pqpp_models.bench.protocol import Predictions, evaluate_predictions, read_published
from pqpp_models.bench.report import list_extremes, render_report, summarise
from pqpp_models.bench.run import BenchRun
from pqpp_models.bench.split import ComparedPredictors, Split


def make_results(n, name="mine", targets=("mean_hbpp", "mean_rr"), noise=1.0, seed=0, fitted=0):
    generator = np.random.default_rng(100 + seed)
    true = {t: list(np.random.default_rng(k).normal(size=n)) for k, t in enumerate(targets)}
    values = np.column_stack([true[t] + noise * generator.normal(size=n) for t in targets])
    predictions = Predictions(name, tuple(targets), values, fitted=np.arange(n) < fitted)
    results = evaluate_predictions([predictions], true, Split(None, "pqpp-v1.0", "validation"))
    return predictions, true, results


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (-1.0, 2.0, ["-1", "0", "1", "2"]),
        (12.0, 13.0, ["12", "12.25", "12.5", "12.75", "13"]),
        (-3e100, 3e100, ["-2e+100", "0", "2e+100"]),
    ],
)
def test_ticks_are_round_and_within_axis(low, high, texts):
    axis = Axis(low, high, 0.0, 100.0)
    positions, labels = zip(*axis.list_ticks(), strict=True)
    assert list(labels) == texts and all(-1e-9 <= place <= 100 + 1e-9 for place in positions)
    assert np.allclose([axis.scale(float(text)) for text in texts], positions)


def test_scatter_plot_samples_many_prompts():
    for n, expected in ((80, 80), (MOST_POINTS, MOST_POINTS), (MOST_POINTS + 1, 251), (8000, 500)):
        predictions, true, results = make_results(n)
        panel = make_scatter_panel(predictions, results[0], "mean HBPP", true)
        assert panel["points"].count("M") == expected and f"of {n} prompts." in panel["alt"]


def test_groups_have_means_and_intervals():
    predictions, true, _ = make_results(200)
    predicted, values = predictions.values[:, 0], np.array(true["mean_hbpp"])
    groups = group_by_prediction(predicted, values)
    rows = np.argsort(predicted, kind="stable").reshape(10, 20)
    assert np.allclose([mean for _, mean, _, _ in groups], values[rows].mean(axis=1))
    low, high = stats.t.interval(
        0.95, 19, loc=values[rows[0]].mean(), scale=stats.sem(values[rows[0]])
    )
    assert groups[0][2:] == pytest.approx((low, high))
    assert group_by_prediction(predicted[:19], values[:19]) == []


def test_ranking_sorts_main_column():
    results = make_results(60)[2] + make_results(60, "worse", noise=5.0, seed=1)[2]
    published = read_published()
    assert find_main_column(results, published) == "mean_hbpp"  # 13 published rows of v1.0 have it
    ranking = rank_rows(results, published, "mean_hbpp", "pearson")
    values = [row["value"] for row in ranking["rows"]]
    assert values == sorted(values, reverse=True) and len(values) == 2 + 13
    new_rows = [row for row in ranking["rows"] if not row["where"]]
    assert [row["name"] for row in new_rows] == ["mine", "worse"]
    assert all(row["ends"][0] < row["x"] < row["ends"][1] for row in new_rows)
    published_rows = [row for row in ranking["rows"] if row["where"]]
    assert all(not row["interval"] for row in published_rows)
    assert {row["where"] for row in published_rows} == {"published, test"}
    assert "fine-tuned CLIP" in {row["name"] for row in published_rows}


@pytest.mark.parametrize(("n", "noise"), [(29, 0.1), (40, 99.0)])
def test_summary_names_no_best_predictor_if_uncertain(n, noise):
    rows = make_results(n, noise=noise)[2] + make_results(n, "other", noise=noise, seed=1)[2]
    sentences = summarise(rows, [], {row.label: row.label for row in rows})
    assert sentences[0] == f"These {n} prompts do not show which predictor is best."
    assert "too few prompts" not in " ".join(sentences[1:]).lower()


@pytest.mark.parametrize(
    ("higher", "easiest", "note"),
    [
        ("harder", ("a", "0.100", "0.200"), "means a harder prompt"),
        ("unknown", ("b", "0.900", "1.000"), "is not known"),
    ],
)
def test_easiest_prompts_follow_direction(higher, easiest, note):
    values = np.array([[0.1], [0.9], [0.5], [0.7], [np.nan]])
    predictions = Predictions("p", ("mean_rr",), values, higher)
    true = {"mean_rr": [0.2, 1.0, None, 0.4, 0.5]}
    extremes = list_extremes(predictions, true, list("abcde"), {})
    assert extremes["easiest"] == [easiest] and note in extremes["note"]  # not "d"
    assert len(extremes["hardest"]) == 1 and extremes["hardest"] != extremes["easiest"]


def test_report_shows_differences_from_baseline():
    first, true, rows = make_results(30, "first", noise=0.5)
    other, _, others = make_results(30, "<other>", noise=3.0, seed=1)
    rows = Dataset.from_dict({"prompt": [f"cat {i}" for i in range(30)], **true})
    split, compared = Split(rows, "own", "test"), ComparedPredictors({}, {}, [])
    run = BenchRun(split, others, [first, other], true, compared)
    assert 'id="differences"' not in render_report(run.results, run=run)
    results = evaluate_predictions([first, other], true, split)
    run = BenchRun(split, results, [first, other], true, compared)
    tested = run.with_tests("<other>")
    page = render_report(tested.results, run=tested)
    (table,) = re.findall(r'id="differences".*?</table>', page, re.DOTALL)
    assert "Difference from &lt;other&gt;" in table and "<other>" not in table
    row = tested.results[0]
    low, high = row.baseline_ci_low, row.baseline_ci_high
    assert f"[{low:+.3f}, {high:+.3f}]" in table and table.count("first") == 2
