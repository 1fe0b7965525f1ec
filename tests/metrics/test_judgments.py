"""Judgments of the other papers: RichHF's consolidation, ConQA's votes, GIMBRR's match rates."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import (
    conqa_relevance,
    majority_labels,
    match_rate,
    points_heatmap,
    richhf_consolidation,
)


def test_points_become_disks_of_a_20th_of_the_height():
    height, width = 60, 40
    points = [[[30, 20], [31.5, 20]], [[0, 0]], []]
    rows, columns = np.mgrid[:height, :width]
    expected = np.zeros((height, width))
    for annotator_points in points:
        region = np.zeros((height, width), bool)
        for row, column in annotator_points:
            region |= (rows - row) ** 2 + (columns - column) ** 2 <= 3.0**2
        expected += region / 3
    np.testing.assert_allclose(points_heatmap(points, height, width), expected, atol=1e-15)


def test_consolidation_of_one_image():
    result = richhf_consolidation(
        scores=[[4, np.nan, 1], [2, np.nan, np.nan], [3, np.nan, 5]],
        keyword_labels=[[0, 1], [0, 0], [1, 1]],
        points=[[], [], []],
        height=4,
        width=5,
    )
    np.testing.assert_array_equal(result["scores"], [3, np.nan, 3])
    assert result["keyword_labels"].tolist() == [0, 1]
    assert (result["heatmap"] == 0).all() and result["heatmap"].shape == (4, 5)


def test_ties_of_votes_on_a_keyword():
    assert majority_labels([[0, 1], [1, 0]]).tolist() == [1, 1]
    assert majority_labels([[0, 1], [1, 0]], ties="misaligned").tolist() == [0, 0]


@given(st.tuples(*[st.integers(0, 12)] * 3))
def test_conqa_rules(votes):
    relevant, non_relevant, unsure = votes
    verdicts = {
        rule: conqa_relevance([votes], rule=rule)[0]
        for rule in ("unanimous", "majority", "three_votes", "any")
    }
    assert verdicts["unanimous"] == (relevant > 0 and non_relevant == unsure == 0)
    assert verdicts["majority"] == (relevant > non_relevant + unsure)
    assert verdicts["three_votes"] == (relevant >= 3) and verdicts["any"] == (relevant > 0)


def test_match_rates_by_group():
    matches = [True, False, True, True, False]
    groups = [["a", 1], ["a", 2], ["b", 1], ["a", 1], ["b", 1]]
    result = match_rate(matches, [[str(x) for x in row] for row in groups], ["task", "model"])
    assert result["match_rate"] == 0.6 and result["n"] == 5
    rows = [(row["task"], row["model"], row["match_rate"], row["n"]) for row in result["groups"]]
    assert rows == [("a", "1", 1.0, 2), ("a", "2", 0.0, 1), ("b", "1", 0.5, 2)]
    numbered = match_rate(matches, [[7], [7], [9], [7], [9]])
    assert [row["group_0"] for row in numbered["groups"]] == [7, 9]
    flat = match_rate(matches, ["a", "a", "b", "a", "b"], ["task"])
    rows = [(row["task"], row["match_rate"], row["n"]) for row in flat["groups"]]
    assert rows == [("a", pytest.approx(2 / 3), 3), ("b", 0.5, 2)]


@given(st.integers(0, 30), st.integers(1, 30))
def test_match_rate_interval_is_wilsons(hits, n):
    hits = min(hits, n)
    result = match_rate([1] * hits + [0] * (n - hits), confidence=0.9)
    low, high = scipy.stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    assert result["ci_low"] == pytest.approx(low, abs=1e-12)
    assert result["ci_high"] == pytest.approx(high, abs=1e-12)
    assert result["match_rate"] == hits / n and result["groups"] == []


@pytest.mark.parametrize("name", ["n", "match_rate", "ci_low", "ci_high"])
def test_group_names_that_are_columns_are_refused(name):
    # Under the name "n" the number of images overwrote the group's label.
    with pytest.raises(MetricInputError, match=name):
        match_rate([1, 0], ["counting", "negation"], group_names=[name])
