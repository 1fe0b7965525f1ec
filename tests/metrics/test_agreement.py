import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.intervals import compute_t_interval

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    icc,
    krippendorff_alpha,
    pairwise_accuracy,
)


def draw_ratings(max_raters=11, categories=4):
    shape = st.tuples(st.integers(2, 12), st.integers(2, max_raters))
    return shape.flatmap(lambda s: hnp.arrays(np.int64, s, elements=st.integers(0, categories - 1)))


@given(draw_ratings())
def test_fleiss_kappa_equals_statsmodels(ratings):
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
@given(draw_ratings(max_raters=2))
def test_cohen_kappa_equals_sklearn(weights, ratings):
    from sklearn.metrics import cohen_kappa_score

    left, right = ratings.T[:2]
    if ratings.min() == ratings.max():
        assert cohen_kappa(left, right, weights=weights).statistic == 1
        return
    expected = cohen_kappa_score(left, right, weights=weights)
    assert cohen_kappa(left, right, weights=weights).statistic == pytest.approx(expected, abs=1e-12)
    assert cohen_kappa(right, left, weights=weights).statistic == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(draw_ratings(max_raters=5), st.data())
def test_krippendorff_alpha_equals_the_package(level, ratings, data):
    krippendorff = pytest.importorskip("krippendorff")
    missing = data.draw(hnp.arrays(bool, ratings.shape))
    ratings = np.where(missing, np.nan, ratings.astype(float))
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    ratings_present = pairable[~np.isnan(pairable)]
    if not ratings_present.size:
        with pytest.raises(MetricInputError, match="two ratings"):
            krippendorff_alpha(ratings, level=level)
        return
    value = krippendorff_alpha(ratings, level=level).statistic
    if ratings_present.min() == ratings_present.max():
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
def test_icc_equals_pingouin(ratings, single, average):
    result = icc(ratings)
    assert [*result.values()][:3] == pytest.approx(single, abs=1e-6)
    assert [*result.values()][4:] == pytest.approx(average, abs=1e-6)
    assert [result.statistic, *result.interval(0.95)] == pytest.approx(single, abs=1e-6)
    assert result.interval(0.8) == icc(ratings, confidence=0.8).interval()
    shifted = icc(1000 * np.array(ratings)[::-1, ::-1] - 5e4)
    figures = [shifted[name] for name in shifted if name != "n"]
    assert figures == pytest.approx([*single, *average], abs=1e-6)


def test_icc_without_disagreement_or_variance():
    assert set(icc([[1, 1], [2, 2], [4, 4]]).values()) == {1.0, 3}
    result = icc([[1, 1], [1, 1]])
    assert np.isnan([result[name] for name in result if name != "n"]).all()
    with pytest.raises(MetricInputError, match="2 items and 2 raters"):
        icc([[1, 2, 3]])


# Gwet (2014), example 2.14: four raters, twelve units, some ratings missing; by irrCAC 0.4.4.
GWET = [[1, 1, math.nan, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4]]
GWET += [[4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [math.nan, 5, 5, 5]]
GWET += [[math.nan, math.nan, 1, 1], [math.nan, math.nan, 3, math.nan]]


def test_gwet_ac1_equals_irrcac():
    expected = {"gwet_ac1": 0.775444068127, "ci_low": 0.460813348132, "ci_high": 1.0, "n": 12}
    assert gwet_ac1(GWET) == pytest.approx(expected, abs=1e-6)
    assert krippendorff_alpha(GWET).statistic == pytest.approx(0.743421052632, abs=1e-6)
    # Of 100 items 95 are called 1 by both, and 5 by one of two: kappa is below 0.
    rare_ratings = [[1, 1]] * 95 + [[1, 0]] * 3 + [[0, 1]] * 2
    expected = {"gwet_ac1": 0.947437582129, "ci_low": 0.89946580406, "ci_high": 0.995409360198}
    assert gwet_ac1(rare_ratings) == pytest.approx(expected | {"n": 100}, abs=1e-6)
    assert gwet_ac1([[1, 1], [2, 3], [2, 1]]).interval()[0] == -1  # no AC1 is lower
    assert cohen_kappa(*zip(*rare_ratings, strict=True)).statistic < 0
    assert gwet_ac1([[1, 1], [1, 1]])["gwet_ac1"] == 1
    assert gwet_ac1(np.arange(200_000).reshape(-1, 2)).statistic == pytest.approx(-1 / 199_999)


def test_text_labels_equal_number_labels():
    names = [["?abcde"[int(n)] if n == n else None for n in row] for row in GWET]
    assert krippendorff_alpha(names).statistic == krippendorff_alpha(GWET).statistic
    assert gwet_ac1(names) == gwet_ac1(GWET)
    with pytest.raises(MetricInputError, match="level ordinal; got text"):
        krippendorff_alpha(names, level="ordinal")


def test_tables_of_counts_or_transposed_ratings_warn():
    with pytest.warns(UserWarning, match="sums to 3"):
        fleiss_kappa([[3, 0], [1, 2], [2, 1]])
    with pytest.warns(UserWarning, match="transpose"):
        krippendorff_alpha(np.array(GWET).T)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_interval_equals_reweighting_items_in_sklearn(weights):
    from sklearn.metrics import cohen_kappa_score

    random = np.random.default_rng(0)
    left, right = random.integers(0, 4, (2, 60))
    right = np.where(random.random(60) < 0.5, left, right)

    def kappa(weight):
        return cohen_kappa_score(left, right, weights=weights, sample_weight=weight)

    value = kappa(np.ones(60))
    slopes = [60e6 * (kappa(1 + 1e-6 * (np.arange(60) == item)) - value) for item in range(60)]
    result = cohen_kappa(left, right, weights=weights)
    half_width = compute_t_interval(np.array(slopes) / (1 - value**2), 0.9)
    ends = np.tanh(np.arctanh(value) + np.array([-half_width, half_width]))
    assert result.interval(0.9) == pytest.approx(ends, abs=1e-5)
    assert (result["ci_low"], result["ci_high"]) == result.interval(0.95)


@pytest.mark.parametrize("level", ["fleiss", "nominal", "ordinal", "interval"])
def test_interval_over_items_equals_adding_an_item_in_the_packages(level):
    random = np.random.default_rng(0)
    ratings = random.integers(0, 3, (20, 1)) + random.integers(0, 2, (20, 3))
    repeated = np.tile(ratings, (100, 1))

    def compute(table):
        if level == "fleiss":
            counts = inter_rater.aggregate_raters(table)[0]
            return inter_rater.fleiss_kappa(counts)
        return krippendorff.alpha(table.T, level_of_measurement=level)

    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    krippendorff = pytest.importorskip("krippendorff")
    value = compute(repeated)
    influences = np.array([2001 * (compute(np.vstack([repeated, row])) - value) for row in ratings])
    half_width = compute_t_interval(influences / (1 - value**2), 0.95)
    result = fleiss_kappa(ratings) if level == "fleiss" else krippendorff_alpha(ratings, level)
    ends = np.tanh(np.arctanh(result.statistic) + np.array([-half_width, half_width]))
    assert result.interval() == pytest.approx(ends, abs=0.01)
    assert "ci_low" not in fleiss_kappa(ratings, interval="none")


def test_pairwise_accuracy_by_hand():
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
