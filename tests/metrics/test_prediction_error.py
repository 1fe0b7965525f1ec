import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from metrics import oracles
from support.intervals import compute_t_interval

from pqpp_metrics.functional import pearson_qpp, qpp_report, rmse_qpp, smare


def test_smare_by_hand():
    # Ranks 1 2 3 4 against 2 1 3 4: two errors of one rank, over 4 queries.
    result = smare([0.1, 0.2, 0.3, 0.4], [2, 1, 3, 4])
    assert result["smare"] == 2 / 4 / 4
    assert result["scores"].tolist() == [0.25, 0.25, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=6))
def test_smare_p_value_agrees_with_every_permutation(pairs):
    x, y = map(np.array, zip(*pairs, strict=True))
    result, n = smare(x, y), len(x)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(result["smare"]) and math.isnan(result["p_value"])
        return
    ranks_x, ranks_y = scipy.stats.rankdata(x), scipy.stats.rankdata(y)
    sums = [np.abs(ranks_x - ranks_y[list(p)]).sum() for p in itertools.permutations(range(n))]
    total = np.abs(ranks_x - ranks_y).sum()
    assert result["smare"] == pytest.approx(total / n / n, abs=1e-12)
    if np.std(sums) < 1e-9:
        assert math.isnan(result["p_value"])
    else:
        z = (total - np.mean(sums)) / np.std(sums)
        assert result["p_value"] == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), abs=1e-9)


@pytest.mark.parametrize("digits", [9, 0])
def test_smare_interval_equals_adding_every_pair_once(digits):
    """One more copy of a pair, added to 400 copies of the sample: the derivative."""
    rng = np.random.default_rng(2)  # no rank error is 0, where there is no derivative
    x, y = rng.standard_normal((2, 12)).round(digits)
    result, copies = smare(x, y, confidence=0.9), (np.tile(x, 400), np.tile(y, 400))
    added = [(np.append(copies[0], x[i]), np.append(copies[1], y[i])) for i in range(12)]
    derivatives = np.array([oracles.smare(*pair) for pair in added]) * (12 * 400 + 1)
    reach = compute_t_interval(derivatives, 0.9)
    assert result["ci_low"] == pytest.approx(result["smare"] - reach, abs=1e-3)
    assert result["ci_high"] == pytest.approx(min(result["smare"] + reach, 0.5), abs=1e-3)


def test_rmse_interval_equals_leaving_every_pair_out():
    """At both ends Hall's ratio of the RMSE, with 2.5 times the skewness, is Student's t."""
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 40))
    result = rmse_qpp(x, y)
    left = np.array([rmse_qpp(np.delete(x, i), np.delete(y, i))["rmse_qpp"] for i in range(40)])
    influences = -39 * (left - left.mean())
    spread = np.sqrt((influences**2).mean())
    skewness = 2.5 * (influences**3).mean() / spread**3
    freedom = min(39, 80 / ((influences**4).mean() / spread**4 - 1))
    bend = skewness / (3 * math.sqrt(40))
    for end, sign in (("ci_low", 1), ("ci_high", -1)):
        t = (result["rmse_qpp"] - result[end]) / (spread / math.sqrt(39))
        # The slope of Hall's cubic; where it would be less than 1/4 the cubic becomes a line.
        hall = scipy.integrate.quad(lambda s: max(1 + bend * s, 0.5) ** 2, 0, t, epsabs=1e-12)
        expected = sign * scipy.stats.t.ppf(0.975, freedom)
        assert hall[0] + bend / 2 == pytest.approx(expected, rel=1e-9)


def test_rmse_interval_covers_where_squares_have_no_variance():
    """Student's t with 3 degrees of freedom, n = 200: coverage was once 87.5%."""
    hits = 0
    for seed in range(300):
        found = rmse_qpp(np.random.default_rng(seed).standard_t(3, 200), np.zeros(200))
        hits += found["ci_low"] <= math.sqrt(3) <= found["ci_high"]
    assert hits >= 283  # 94.3%


def test_rmse_interval_with_one_large_error():
    result = rmse_qpp([0, 0, 0, 0, 0, 0], [0.1, -0.2, 0.1, 0.3, 0.2, 90])
    assert 0 <= result["ci_low"] < result["rmse_qpp"] < 2 * result["rmse_qpp"] < result["ci_high"]
    none = rmse_qpp([1, 2, 3, 4], [1, 2, 3, 4])
    assert (none["ci_low"], none["ci_high"]) == (0, 0)


def test_rmse_of_huge_and_of_no_errors():
    assert rmse_qpp([1e200, 0], [0, 1e200])["rmse_qpp"] == pytest.approx(1e200, rel=1e-12)
    assert rmse_qpp([1, 2, 3], [1, 2, 3])["rmse_qpp"] == 0


def test_report_equals_the_single_measures():
    rng = np.random.default_rng(3)
    x, y = rng.random(50), rng.random(50)
    report = qpp_report(x, y, confidence=0.9)
    assert list(report) == ["pearson_qpp", "spearman_qpp", "kendall_qpp", "smare", "rmse_qpp"]
    assert report["pearson_qpp"] == pearson_qpp(x, y, confidence=0.9)
    assert report["rmse_qpp"]["p_value"] == report["pearson_qpp"]["p_value"]
    for name, result in report.items():
        assert set(result) == {name, "p_value", "ci_low", "ci_high", "n"}
        assert result["ci_low"] <= result[name] <= result["ci_high"]
