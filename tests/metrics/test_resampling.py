import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from metrics import oracles

from pqpp_metrics.functional import _influence, paired_permutation
from pqpp_metrics.functional._pairs import PairOrder
from pqpp_metrics.functional._studentised import get_tail_length

MEASURES = {
    "kendall": lambda x, y: scipy.stats.kendalltau(x, y).statistic,
    "pearson": lambda x, y: scipy.stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy.stats.spearmanr(x, y).statistic,
    "smare": oracles.smare,
    "rmse": lambda x, y: np.sqrt(((x - y) ** 2).mean()),
}
DAILY_MEASURES = [
    pytest.param(name, marks=[] if name in ("kendall", "rmse") else pytest.mark.daily)
    for name in MEASURES
]


def draw_three(n=40, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    x, other = rng.standard_normal((2, n))
    y = x + 0.5 * other + rng.standard_normal(n)
    return (x.round(), other.round(), y.round()) if ties else (x, other, y)


def transform(name, value):
    return np.array(value) if name in ("smare", "rmse") else np.arctanh(value)


def compute_tested(name, x, y):
    """Return a measure and the influences on it, on the scale of the test."""
    value, influences = compute_influences(name, x, y)
    return (np.log(value), influences / value) if name == "rmse" else (value, influences)


def compute_influences(name, x, y):
    """Return a measure and the influences on it, on the scale of the interval."""
    orders = PairOrder(x), PairOrder(y)
    return {
        "pearson": lambda: _influence.compute_pearson(x, y),
        "spearman": lambda: _influence.compute_spearman(*orders),
        "kendall": lambda: _influence.compute_kendall(_influence.sum_agreements(*orders), *orders),
        "smare": lambda: _influence.compute_smare(*orders),
        "rmse": lambda: _influence.compute_rmse(x - y),
    }[name]()


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("ties", [False, True])
def test_the_order_of_the_queries_does_not_matter(name, ties):
    values = draw_three(n=100, ties=ties)
    expected = paired_permutation(*values, name, 150)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(100)
        assert paired_permutation(*(value[order] for value in values), name, 150) == expected


@pytest.mark.parametrize("name", MEASURES)
def test_values_and_sign_of_the_difference(name):
    x, other, y = draw_three(n=100, seed=6)
    result = paired_permutation(x, other, y, name, 300)
    assert result["value"] == pytest.approx(MEASURES[name](x, y), abs=1e-12)
    assert result["other_value"] == pytest.approx(MEASURES[name](other, y), abs=1e-12)
    assert result["paired_permutation"] == result["value"] - result["other_value"]
    swapped = paired_permutation(other, x, y, name, 300)
    assert swapped["paired_permutation"] == -result["paired_permutation"]
    assert 0 < result["p_value"] <= 1
    assert result == paired_permutation(x, other, y, name, 300)
    assert paired_permutation(x, other, y, name, 300, seed=1)["n"] == 100


def test_interval_covers_the_difference_and_a_predictor_equals_itself():
    x, other, y = draw_three(n=200)
    result = paired_permutation(x, other, y, "kendall", 500)
    assert result["ci_low"] < result["paired_permutation"] < result["ci_high"]
    same = paired_permutation(x, x, y, "pearson", 200)
    assert (same["paired_permutation"], same["p_value"]) == (0, 1)


def p_value_by_hand(first, second, weight):
    """The two-sided p-value of Hall's ratio of a difference of values, by Student's t."""
    influences = first[1] - second[1]
    n, deviations = len(influences), influences - influences.mean()
    spread = np.sqrt((deviations**2).mean())
    skewness = weight * (deviations**3).mean() / spread**3
    freedom = min(n - 1, 2 * n / ((deviations**4).mean() / spread**4 - 1))
    t = (first[0] - second[0]) / (spread / math.sqrt(n - 1))
    bend = skewness / (3 * math.sqrt(n))
    hall = scipy.integrate.quad(lambda s: max(1 + bend * s, 0.5) ** 2, 0, t, epsabs=1e-11)[0]
    return 2 * scipy.stats.t.sf(abs(hall + bend / 2), freedom)


@pytest.mark.parametrize("name", MEASURES)
def test_p_value_agrees_with_every_swap(name):
    """All 2**8 swaps of the eight of a hundred queries on which two predictors differ."""
    x, _, y = draw_three(100, seed=3)
    a, b = x, other = x, np.concatenate([np.roll(x[:8], 3), x[8:]])
    if name != "rmse":
        a, b = ((v - np.median(v)) / np.abs(v - np.median(v)).mean() for v in (x, other))
    if name not in ("rmse", "pearson"):
        a, b = np.split(scipy.stats.rankdata([a, b]), 2)
    p_values = []
    for first in itertools.product([True, False], repeat=8):
        unswapped = np.array([*first, *[True] * 92])
        sides = np.where(unswapped, a, b), np.where(unswapped, b, a)
        weight = 2.5 if name in ("pearson", "rmse") else 0
        p_values.append(p_value_by_hand(*(compute_tested(name, side, y) for side in sides), weight))
    p_values = np.array(p_values)
    same = np.isclose(p_values, p_values[0], rtol=1e-9)
    exact = ((p_values < p_values[0]) & ~same).mean() + same.mean() / 2
    found = paired_permutation(x, other, y, name, 20_000)["p_value"]
    assert found == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("name", ["pearson", "rmse"])
def test_different_predictors_of_equal_quality_are_seldom_rejected(name):
    """Normal and lognormal noise of the same variance; by the RMSE 15% were rejected once."""
    rejections = 0
    for seed in range(200):
        y, shared, first, second = np.random.default_rng(seed).standard_normal((4, 100))
        skewed = (np.exp(second) - math.exp(0.5)) / math.sqrt(math.e * (math.e - 1))
        sides = [y + 0.5 * shared + noise for noise in (first, skewed)]
        found = paired_permutation(*sides, y, name, 39)
        rejections += found["p_value"] <= 0.05
        assert math.isnan(found["p_value"]) == math.isnan(found["ci_low"]) == bool(found["why"])
        assert paired_permutation(*sides[::-1], y, name, 3)["why"] == found["why"]
    assert rejections <= 18  # 16 are 8%


def test_tail_length_is_that_of_l_moments():
    errors = np.random.default_rng(0).standard_normal((3, 30)) ** 3
    skewness, kurtosis = scipy.stats.lmoment(errors, axis=1, order=[3, 4])
    np.testing.assert_allclose(get_tail_length(errors), kurtosis + np.abs(skewness), rtol=1e-12)
    assert get_tail_length(np.zeros(4)) == 0


@pytest.mark.parametrize("name", DAILY_MEASURES)
def test_interval_excludes_0_where_the_test_rejects(name):
    sides = set()
    for seed in range(60):
        x, other, y = draw_three(100, seed=seed)
        found = paired_permutation(x, other, y, name, 199, confidence=0.8)
        is_outside = not found["ci_low"] <= 0 <= found["ci_high"]
        if not found["why"] and abs(found["p_value"] - 0.2) > 0.01:
            assert is_outside == (found["p_value"] < 0.2)
            sides.add(is_outside)
    assert sides == {True, False}


def test_the_interval_covers_a_difference():
    """Of correlations 1 / sqrt(2) and 1 / sqrt(5): .707 and .447."""
    truth, hits = 1 / math.sqrt(2) - 1 / math.sqrt(5), []
    for seed in range(200):
        y, first, second = np.random.default_rng(seed).standard_normal((3, 100))
        found = paired_permutation(y + first, y + 2 * second, y, "pearson", 99)
        if not found["why"]:
            hits.append(found["ci_low"] <= truth <= found["ci_high"])
    assert len(hits) > 140 and 0.91 <= np.mean(hits) <= 0.99


def test_correlation_of_a_constant_is_nan():
    result = paired_permutation(
        [1] * 30, list(range(30)), [i * i for i in range(30)], "kendall", 20
    )
    assert math.isnan(result["paired_permutation"]) and math.isnan(result["p_value"])
