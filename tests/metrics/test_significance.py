import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import dependent_correlations, holm, mann_whitney


def with_correlations(first, second, between, n):
    """Three samples of n whose correlations are exactly the given ones."""
    matrix = np.array([[1, first, second], [first, 1, between], [second, between, 1]])
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((n, 3))
    raw -= raw.mean(axis=0)
    white = np.linalg.qr(raw)[0]
    y, x, other = (white @ np.linalg.cholesky(matrix).T).T
    return x, other, y


def test_against_published_figures():
    """Steiger 1980, page 247, as recomputed by R's psych::r.test(103, .4, .5, .1)."""
    x, other, y = with_correlations(0.4, 0.5, 0.1, 103)
    williams = dependent_correlations(x, other, y, test="williams")
    determinant = 1 - 0.16 - 0.25 - 0.01 + 2 * 0.4 * 0.5 * 0.1
    t = -0.1 * math.sqrt(102 * 1.1 / (2 * 102 / 100 * determinant + 0.45**2 * 0.9**3))
    assert williams["statistic"] == pytest.approx(t, abs=1e-10)
    assert williams["statistic"] == pytest.approx(-0.89, abs=0.01)
    assert williams["p_value"] == pytest.approx(2 * scipy.stats.t.sf(-t, 100), abs=1e-10)
    steiger = dependent_correlations(x, other, y, test="steiger")
    assert steiger["statistic"] == pytest.approx(-0.88, abs=0.01)
    assert steiger["p_value"] == pytest.approx(2 * scipy.stats.norm.sf(abs(steiger["statistic"])))


@pytest.mark.parametrize("test", ["williams", "steiger"])
def test_swapping_the_predictors_swaps_the_sign(test):
    x, other, y = with_correlations(0.6, 0.2, 0.3, 50)
    one, two = (dependent_correlations(*pair, y, test=test) for pair in ((x, other), (other, x)))
    assert one["statistic"] == pytest.approx(-two["statistic"], abs=1e-12)
    assert one["p_value"] == pytest.approx(two["p_value"], abs=1e-12)
    assert one["dependent_correlations"] == pytest.approx(0.4, abs=1e-12)
    assert one["p_value"] < 0.05


@pytest.mark.parametrize("test", ["williams", "steiger"])
def test_level_under_the_null(test):
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = rng.standard_normal(40)
        x, other = 0.7 * y + rng.standard_normal((2, 40))
        wrong += dependent_correlations(x, other, y, test=test)["p_value"] < 0.05
    assert wrong <= 20


def test_spearman_is_pearson_of_ranks():
    x, other, y = with_correlations(0.6, 0.2, 0.3, 50)
    ranks = map(scipy.stats.rankdata, (x, other, y))
    assert dependent_correlations(x, other, y, correlation="spearman") == dependent_correlations(
        *ranks
    )


@pytest.mark.parametrize("test", ["williams", "steiger"])
@pytest.mark.parametrize(
    ("x", "other", "y"),
    [
        ([1, 2, 3], [3, 1, 2], [1, 2, 3]),
        ([1, 1, 1, 1], [1, 2, 3, 5], [1, 3, 2, 4]),
    ],
)
def test_undefined_is_nan(test, x, other, y):
    result = dependent_correlations(x, other, y, test=test)
    assert math.isnan(result["statistic"]) and math.isnan(result["p_value"])


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
@pytest.mark.parametrize("test", ["williams", "steiger"])
def test_equal_predictors_differ_by_nothing(test, correlation):
    for other in ([1, 2, 3, 5], [2, 4, 6, 10]):
        result = dependent_correlations([1, 2, 3, 5], other, [1, 3, 2, 4], test, correlation)
        assert (result["dependent_correlations"], result["p_value"]) == (pytest.approx(0), 1)


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize(("n_x", "n_y", "digits"), [(6, 5, 9), (50, 30, 9), (50, 30, 1)])
def test_mann_whitney_is_scipys(alternative, n_x, n_y, digits):
    rng = np.random.default_rng(0)
    x, y = rng.random(n_x).round(digits), (rng.random(n_y) + 0.1).round(digits)
    result = mann_whitney(x, y, alternative=alternative)
    outside = scipy.stats.mannwhitneyu(x, y, alternative=alternative)
    assert result["mann_whitney"] == outside.statistic
    assert result["p_value"] == pytest.approx(outside.pvalue, rel=1e-12)
    assert result["relative_improvement"] == pytest.approx(y.mean() / x.mean() - 1, rel=1e-12)
    assert (result["n_x"], result["n_y"]) == (n_x, n_y)


def test_mann_whitney_at_the_edges():
    assert mann_whitney([0, 0], [0, 1])["relative_improvement"] == math.inf
    assert math.isnan(mann_whitney([0, 0], [0, 0])["relative_improvement"])
    assert mann_whitney([2, 2], [2, 2])["p_value"] == 1
    assert mann_whitney([2, 2], [2, 2, 2])["mann_whitney"] == 3
    assert mann_whitney([1], [2])["mann_whitney"] == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_step_by_step(p_values):
    result = holm(p_values)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    highest = 0.0
    for step, index in enumerate(order):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - step)))
        assert result["adjusted"][index] == highest
        assert result["rejected"][index] == (highest <= 0.05)
    assert result["holm"] == min(result["adjusted"])
    assert result["n"] == len(p_values)


def test_holm_is_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(0).random(40) ** 4
    rejected, adjusted, _, _ = multitest.multipletests(p_values, 0.05, method="holm")
    result = holm(p_values)
    np.testing.assert_allclose(result["adjusted"], adjusted, atol=1e-12)
    assert (result["rejected"] == rejected).all()


def test_holm_takes_tables_and_leaves_out_undefined_tests():
    table = np.array([[0.01, np.nan], [0.04, 0.03]])
    result = holm(table)
    np.testing.assert_allclose(result["adjusted"], [[0.03, np.nan], [0.06, 0.06]])
    assert result["rejected"].tolist() == [[True, False], [False, False]]
    assert result["n"] == 3
    assert math.isnan(holm([np.nan])["holm"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: holm([0.1, 1.2]), "1.2"),
        (lambda: holm([]), "empty"),
        (lambda: holm(["a"]), "str"),
        (lambda: holm([0.1], alpha=2), "alpha"),
        (lambda: mann_whitney([], [1]), "empty"),
        (lambda: mann_whitney([1], [np.inf]), "NaN or infinite"),
        (lambda: mann_whitney([1], [2], alternative="lower"), "'less'"),
        (lambda: dependent_correlations([1, 2], [1, 2, 3], [1, 2]), "shapes differ"),
        (lambda: dependent_correlations([1, 2], [1, 2], [1, 2], test="hotelling"), "'williams'"),
    ],
)
def test_bad_input_is_one_typed_error(call, words):
    with pytest.raises(MetricInputError, match=words):
        call()
