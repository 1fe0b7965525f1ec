import math

import numpy as np
import pytest
import scipy.stats

from pqpp_metrics.functional import holm, mann_whitney


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize(("n_x", "n_y", "digits"), [(6, 5, 9), (50, 30, 9), (50, 30, 1)])
def test_mann_whitney_equals_scipy(alternative, n_x, n_y, digits):
    rng = np.random.default_rng(0)
    x, y = rng.random(n_x).round(digits), (rng.random(n_y) + 0.1).round(digits)
    result = mann_whitney(x, y, alternative=alternative)
    reference = scipy.stats.mannwhitneyu(x, y, alternative=alternative)
    assert result["mann_whitney"] == result.statistic == reference.statistic
    assert result["p_value"] == result.pvalue and dict(result)["n"] == n_x + n_y
    with pytest.raises(ValueError, match="without an interval"):
        result.interval()
    assert result["p_value"] == pytest.approx(reference.pvalue, rel=1e-12)
    assert result["relative_improvement"] == pytest.approx(y.mean() / x.mean() - 1, rel=1e-12)
    assert (result["n_x"], result["n_y"]) == (n_x, n_y)


def test_mann_whitney_of_constants_and_single_values():
    assert mann_whitney([0, 0], [0, 1])["relative_improvement"] == math.inf
    assert math.isnan(mann_whitney([0, 0], [0, 0])["relative_improvement"])
    assert mann_whitney([2, 2], [2, 2])["p_value"] == 1
    assert mann_whitney([2, 2], [2, 2, 2])["mann_whitney"] == 3
    assert mann_whitney([1], [2])["mann_whitney"] == 0


def test_holm_takes_tables_and_skips_undefined_tests():
    table = np.array([[0.01, np.nan], [0.04, 0.03]])
    result = holm(table)
    np.testing.assert_allclose(result["adjusted"], [[0.03, np.nan], [0.06, 0.06]])
    assert result["rejected"].tolist() == [[True, False], [False, False]]
    assert result["n"] == 3 and math.isnan(holm([np.nan])["holm"])
