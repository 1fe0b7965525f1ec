"""The parts of a bench's report: axes, panels, ranking, summary, extremes."""

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


def said(n, name="mine", targets=("mean_hbpp", "mean_rr"), noise=1.0, seed=0, config="pqpp-v1.0"):
    generator = np.random.default_rng(100 + seed)
    true = {t: list(np.random.default_rng(k).normal(size=n)) for k, t in enumerate(targets)}
    values = np.column_stack([true[t] + noise * generator.normal(size=n) for t in targets])
    one = Predictions(name, tuple(targets), values)
    results = evaluate_predictions([one], true, Split(None, config, "validation"))
    return one, true, results


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (-1.0, 2.0, ["-1", "0", "1", "2"]),
        (12.0, 13.0, ["12", "12.25", "12.5", "12.75", "13"]),
        (-3e100, 3e100, ["-2e+100", "0", "2e+100"]),
    ],
)
def test_ticks_are_round_and_inside(low, high, texts):
    axis = Axis(low, high, 0.0, 100.0)
    places, found = zip(*axis.list_ticks(), strict=True)
    assert list(found) == texts and all(-1e-9 <= place <= 100 + 1e-9 for place in places)
    assert np.allclose([axis.scale(float(text)) for text in texts], places)


def test_up_to_so_many_prompts_are_points():
    for n, shown in ((80, 80), (MOST_POINTS, MOST_POINTS), (MOST_POINTS + 1, 251), (8000, 500)):
        one, true, results = said(n)
        found = make_scatter_panel(one, results[0], "mean HBPP", true)
        assert found["points"].count("M") == shown and f"of {n} prompts." in found["alt"]


def test_the_line_joins_means_of_ten_groups_with_their_intervals():
    one, true, _ = said(200)
    predicted, values = one.values[:, 0], np.array(true["mean_hbpp"])
    groups = group_by_prediction(predicted, values)
    rows = np.argsort(predicted, kind="stable").reshape(10, 20)
    assert np.allclose([mean for _, mean, _, _ in groups], values[rows].mean(axis=1))
    low, high = stats.t.interval(
        0.95, 19, loc=values[rows[0]].mean(), scale=stats.sem(values[rows[0]])
    )
    assert groups[0][2:] == pytest.approx((low, high))
    assert group_by_prediction(predicted[:19], values[:19]) == []


def test_the_ranking_is_on_what_most_have_and_in_order():
    results = said(60)[2] + said(60, "worse", noise=5.0, seed=1)[2]
    beside = read_published()
    assert find_main_column(results, beside) == "mean_hbpp"  # 13 published rows of v1.0 have it
    found = rank_rows(results, beside, "mean_hbpp")
    values = [row["value"] for row in found["rows"]]
    assert values == sorted(values, reverse=True) and len(values) == 2 + 13
    ours = [row for row in found["rows"] if not row["where"]]
    assert [row["name"] for row in ours] == ["mine", "worse"]
    assert all(row["ends"][0] < row["x"] < row["ends"][1] for row in ours)
    theirs = [row for row in found["rows"] if row["where"]]
    assert all(not row["interval"] for row in theirs)
    assert {row["where"] for row in theirs} == {"published, test"}
    assert "fine-tuned CLIP" in {row["name"] for row in theirs}


@pytest.mark.parametrize(("n", "noise"), [(29, 0.1), (40, 99.0)])
def test_few_prompts_or_an_interval_around_0_have_no_winner(n, noise):
    rows = said(n, noise=noise)[2] + said(n, "other", noise=noise, seed=1)[2]
    told = summarise(rows, [], {row.label: row.label for row in rows})
    assert told[0] == f"These {n} prompts do not show which predictor is best."
    assert "too few prompts" not in " ".join(told[1:]).lower()


@pytest.mark.parametrize(
    ("higher", "easiest", "note"),
    [
        ("harder", ("a", "0.100", "0.200"), "means a harder prompt"),
        ("unknown", ("b", "0.900", "1.000"), "is not known"),
    ],
)
def test_easiest_prompts_follow_the_sign_of_a_measure(higher, easiest, note):
    values = np.array([[0.1], [0.9], [0.5], [0.7], [np.nan]])
    one = Predictions("p", ("mean_rr",), values, higher)
    found = list_extremes(one, {"mean_rr": [0.2, 1.0, None, 0.4, 0.5]}, list("abcde"), {}, count=2)
    assert found["easiest"] == [easiest] and note in found["note"]  # "d" is neither
    assert len(found["hardest"]) == 1 and found["hardest"] != found["easiest"]


def test_the_differences_from_a_baseline_are_a_table():
    first, true, rows = said(30, "first", noise=0.5)
    other, _, others = said(30, "<other>", noise=3.0, seed=1)
    rows = Dataset.from_dict({"prompt": [f"cat {i}" for i in range(30)], **true})
    run = BenchRun(
        Split(rows, "own", "test"), {}, others, [first, other], true, ComparedPredictors({}, {}, [])
    )
    assert 'id="differences"' not in render_report(run)
    both = evaluate_predictions([first, other], true, run.split)
    tested = BenchRun(run.split, {}, both, [first, other], true, run.compared).with_tests("<other>")
    page = render_report(tested)
    (table,) = re.findall(r'id="differences".*?</table>', page, re.DOTALL)
    assert "Difference from &lt;other&gt;" in table and "<other>" not in table
    row = tested.results[0]
    low, high = row.baseline_ci_low, row.baseline_ci_high
    assert f"[{low:+.3f}, {high:+.3f}]" in table and table.count("first") == 2
