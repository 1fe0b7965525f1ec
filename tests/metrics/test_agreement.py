import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.intervals import students_t_interval

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    icc,
    krippendorff_alpha,
    pairwise_accuracy,
)


def labels(max_raters=11, categories=4):
    shape = st.tuples(st.integers(2, 12), st.integers(2, max_raters))
    return shape.flatmap(lambda s: hnp.arrays(np.int64, s, elements=st.integers(0, categories - 1)))


@given(labels())
def test_fleiss_is_statsmodels(ratings):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")

    if ratings.min() == ratings.max():
        assert fleiss_kappa(ratings).statistic == 1
        return
    expected = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(ratings)[0])
    assert fleiss_kappa(ratings).statistic == pytest.approx(expected, abs=1e-12)
    assert fleiss_kappa(ratings[::-1, ::-1]).statistic == pytest.approx(expected, abs=1e-12)
    assert fleiss_kappa(np.char.add("x", ratings.astype(str))).statistic == pytest.approx(
        expected, abs=1e-12
    )
    assert fleiss_kappa(ratings * 1000 - 500.5).statistic == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@given(labels(max_raters=2))
def test_cohen_is_sklearn(weights, ratings):
    from sklearn.metrics import cohen_kappa_score

    left, right = ratings.T[:2]
    if ratings.min() == ratings.max():
        assert cohen_kappa(left, right, weights=weights).statistic == 1
        return
    expected = cohen_kappa_score(left, right, weights=weights)
    assert cohen_kappa(left, right, weights=weights).statistic == pytest.approx(expected, abs=1e-12)
    assert cohen_kappa(right, left, weights=weights).statistic == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(labels(max_raters=5), st.data())
def test_krippendorff_is_the_package(level, ratings, data):
    krippendorff = pytest.importorskip("krippendorff")
    missing = data.draw(hnp.arrays(bool, ratings.shape))
    ratings = np.where(missing, np.nan, ratings.astype(float))
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    present = pairable[~np.isnan(pairable)]
    if not present.size:
        with pytest.raises(MetricInputError, match="two ratings"):
            krippendorff_alpha(ratings, level=level)
        return
    value = krippendorff_alpha(ratings, level=level).statistic
    if present.min() == present.max():
        assert value == 1
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = krippendorff.alpha(pairable.T, level_of_measurement=level)
    assert value == pytest.approx(expected, abs=1e-10)


# Table 2 of Shrout and Fleiss (1979), and 8 items drawn; figures by pingouin 0.6.1.
SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
DRAWN = [[0.41, 1.71, -0.11], [-0.94, -0.37, -0.92], [0.8, 0.31, 0.1], [-0.12, 1.33, -0.01]]
DRAWN += [[-0.24, -0.51, -1.0], [1.08, 2.54, -1.23], [2.75, 3.33, 1.75], [1.15, 1.32, 2.07]]


@pytest.mark.parametrize(
    ("ratings", "single", "average"),
    [
        (SHROUT, [0.28976378, 0.01878651, 0.76108437], [0.62005055, 0.07113682, 0.92723204]),
        (DRAWN, [0.55197959, 0.14262258, 0.86887776], [0.78705841, 0.33290748, 0.95210593]),
    ],
)
def test_icc_is_pingouins(ratings, single, average):
    found = icc(ratings)
    assert [*found.values()][:3] == pytest.approx(single, abs=1e-6)
    assert [*found.values()][4:] == pytest.approx(average, abs=1e-6)
    assert [found.statistic, *found.interval(0.95)] == pytest.approx(single, abs=1e-6)
    assert found.interval(0.8) == icc(ratings, confidence=0.8).interval()
    shifted = icc(1000 * np.array(ratings)[::-1, ::-1] - 5e4)
    figures = [shifted[name] for name in shifted if name != "n"]
    assert figures == pytest.approx([*single, *average], abs=1e-6)


def test_icc_without_disagreement_and_without_difference():
    assert set(icc([[1, 1], [2, 2], [4, 4]]).values()) == {1.0, 3}
    found = icc([[1, 1], [1, 1]])
    assert np.isnan([found[name] for name in found if name != "n"]).all()
    with pytest.raises(MetricInputError, match="2 items and 2 raters"):
        icc([[1, 2, 3]])


# Gwet (2014), example 2.14: four raters, twelve units, some ratings missing; by irrCAC 0.4.4.
GWET = [[1, 1, math.nan, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4]]
GWET += [[4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [math.nan, 5, 5, 5]]
GWET += [[math.nan, math.nan, 1, 1], [math.nan, math.nan, 3, math.nan]]


def test_ac1_is_irrcacs():
    expected = {"gwet_ac1": 0.775444068127, "ci_low": 0.460813348132, "ci_high": 1.0, "n": 12}
    assert gwet_ac1(GWET) == pytest.approx(expected, abs=1e-6)
    assert krippendorff_alpha(GWET).statistic == pytest.approx(0.743421052632, abs=1e-6)
    # Of 100 items 95 are called 1 by both, and 5 by one of two: kappa is below 0.
    rare = [[1, 1]] * 95 + [[1, 0]] * 3 + [[0, 1]] * 2
    expected = {
        "gwet_ac1": 0.947437582129,
        "ci_low": 0.89946580406,
        "ci_high": 0.995409360198,
        "n": 100,
    }
    assert gwet_ac1(rare) == pytest.approx(expected, abs=1e-6)
    assert cohen_kappa(*zip(*rare, strict=True)).statistic < 0
    assert gwet_ac1([[1, 1], [1, 1]])["gwet_ac1"] == 1
    assert gwet_ac1(np.arange(200_000).reshape(-1, 2)).statistic == pytest.approx(-1 / 199_999)


def test_labels_of_text_are_those_of_numbers():
    names = [["?abcde"[int(one)] if one == one else None for one in row] for row in GWET]
    assert krippendorff_alpha(names).statistic == krippendorff_alpha(GWET).statistic
    assert gwet_ac1(names) == gwet_ac1(GWET)
    with pytest.raises(MetricInputError, match="level ordinal; got text"):
        krippendorff_alpha(names, level="ordinal")


def test_tables_that_are_no_ratings_are_told():
    with pytest.warns(UserWarning, match="sums to 3"):
        fleiss_kappa([[3, 0], [1, 2], [2, 1]])
    with pytest.warns(UserWarning, match="transpose"):
        krippendorff_alpha(np.array(GWET).T)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_the_interval_of_cohen_is_by_sklearns_weighted_items(weights):
    from sklearn.metrics import cohen_kappa_score

    random = np.random.default_rng(0)
    left, right = random.integers(0, 4, (2, 60))
    right = np.where(random.random(60) < 0.5, left, right)

    def weighted(weight):
        return cohen_kappa_score(left, right, weights=weights, sample_weight=weight)

    value = weighted(np.ones(60))
    moved = [60e6 * (weighted(1 + 1e-6 * (np.arange(60) == item)) - value) for item in range(60)]
    found = cohen_kappa(left, right, weights=weights)
    half = students_t_interval(np.array(moved) / (1 - value**2), 0.9)
    ends = np.tanh(np.arctanh(value) + np.array([-half, half]))
    assert found.interval(0.9) == pytest.approx(ends, abs=1e-5)
    assert (found["ci_low"], found["ci_high"]) == found.interval(0.95)


@pytest.mark.parametrize("level", ["fleiss", "nominal", "ordinal", "interval"])
def test_the_interval_over_items_is_by_the_packages_of_one_item_more(level):
    random = np.random.default_rng(0)
    ratings = random.integers(0, 3, (20, 1)) + random.integers(0, 2, (20, 3))
    many = np.tile(ratings, (100, 1))

    def whole(table):
        if level == "fleiss":
            counts = inter_rater.aggregate_raters(table)[0]
            return inter_rater.fleiss_kappa(counts)
        return krippendorff.alpha(table.T, level_of_measurement=level)

    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    krippendorff = pytest.importorskip("krippendorff")
    value = whole(many)
    moved = np.array([2001 * (whole(np.vstack([many, row])) - value) for row in ratings])
    half = students_t_interval(moved / (1 - value**2), 0.95)
    own = fleiss_kappa(ratings) if level == "fleiss" else krippendorff_alpha(ratings, level)
    ends = np.tanh(np.arctanh(own.statistic) + np.array([-half, half]))
    assert own.interval() == pytest.approx(ends, abs=0.01)
    assert "ci_low" not in fleiss_kappa(ratings, interval="none")


def test_pairs_by_hand():
    from statsmodels.stats.proportion import proportion_confint

    scores = [[2, 1], [1, 2], [3, 3], [0, 5], [1, 0]]
    preference = [1, 1, -1, -1, 0]
    for score_ties, value, n in (("wrong", 2 / 4, 4), ("half", 2.5 / 4, 4), ("dropped", 2 / 3, 3)):
        result = pairwise_accuracy(scores, preference, score_ties=score_ties)
        counts = {"pairwise_accuracy": value, "n": n, "n_ties": 1, "n_score_ties": 1}
        assert {name: result[name] for name in counts} == counts
        wilson = proportion_confint(round(value * n, 1), n, alpha=0.1, method="wilson")
        assert result.interval(0.9) == pytest.approx(wilson, abs=1e-12)
    assert math.isnan(pairwise_accuracy([[1, 2]], [0])["pairwise_accuracy"])
