import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from support.intervals import students_t_interval

from pqpp_metrics.functional import pearson_qpp, qpp_report, rmse_qpp, smare


def test_smare_by_hand():
    # Ranks 1 2 3 4 against 2 1 3 4: two errors of one rank, over 4 queries.
    result = smare([0.1, 0.2, 0.3, 0.4], [2, 1, 3, 4])
    assert result["smare"] == 2 / 4 / 4
    assert result["scores"].tolist() == [0.25, 0.25, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=6))
def test_smare_against_every_pairing(pairs):
    x, y = map(np.array, zip(*pairs, strict=True))
    result, n = smare(x, y), len(x)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(result["smare"]) and math.isnan(result["p_value"])
        return
    ranks_x, ranks_y = scipy.stats.rankdata(x), scipy.stats.rankdata(y)
    every = [np.abs(ranks_x - ranks_y[list(p)]).sum() for p in itertools.permutations(range(n))]
    value = np.abs(ranks_x - ranks_y).sum()
    assert result["smare"] == pytest.approx(value / n / n, abs=1e-12)
    if np.std(every) < 1e-9:
        assert math.isnan(result["p_value"])
    else:
        z = (value - np.mean(every)) / np.std(every)
        assert result["p_value"] == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), abs=1e-9)


def test_rmse():
    from sklearn.metrics import root_mean_squared_error

    rng = np.random.default_rng(3)
    x, y = rng.random(50), rng.random(50)
    result = rmse_qpp(x, y)
    assert result["rmse_qpp"] == pytest.approx(root_mean_squared_error(y, x), abs=1e-12)
    assert result["p_value"] == pearson_qpp(x, y)["p_value"]


def smare_by_scipy(x, y):
    return np.abs(scipy.stats.rankdata(x) - scipy.stats.rankdata(y)).mean() / len(x)


@pytest.mark.parametrize("digits", [9, 0])
def test_smare_interval_by_adding_a_little_of_every_pair(digits):
    """Of 400 copies of the sample, one further copy of a pair: the derivative, where it exists."""
    rng = np.random.default_rng(2)  # with no rank error of 0, in which it doesn't
    x, y = rng.standard_normal((2, 12)).round(digits)
    result, copies = smare(x, y, confidence=0.9), (np.tile(x, 400), np.tile(y, 400))
    added = [(np.append(copies[0], x[i]), np.append(copies[1], y[i])) for i in range(12)]
    half = students_t_interval(
        np.array([smare_by_scipy(*pair) for pair in added]) * (12 * 400 + 1), 0.9
    )
    assert result["ci_low"] == pytest.approx(result["smare"] - half, abs=1e-3)
    assert result["ci_high"] == pytest.approx(min(result["smare"] + half, 0.5), abs=1e-3)


def test_rmse_interval_by_leaving_every_pair_out():
    """Where Hall's ratio of the RMSE, with 2.5 times the skewness, is Student's t at both ends."""
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
        # The slope of Hall's cubic, which goes on as a line where it would be less than 1/4.
        hall = scipy.integrate.quad(lambda s: max(1 + bend * s, 0.5) ** 2, 0, t, epsabs=1e-12)
        expected = sign * scipy.stats.t.ppf(0.975, freedom)
        assert hall[0] + bend / 2 == pytest.approx(expected, rel=1e-9)


def test_rmse_interval_covers_where_squares_have_no_variance():
    """Student's t with 3 degrees of freedom, n = 200: it was 87.5%, less than with n = 15."""
    hits = 0
    for seed in range(300):
        found = rmse_qpp(np.random.default_rng(seed).standard_t(3, 200), np.zeros(200))
        hits += found["ci_low"] <= math.sqrt(3) <= found["ci_high"]
    assert hits >= 283  # 94.3%


def test_one_large_error():
    result = rmse_qpp([0, 0, 0, 0, 0, 0], [0.1, -0.2, 0.1, 0.3, 0.2, 90])
    assert 0 <= result["ci_low"] < result["rmse_qpp"] < 2 * result["rmse_qpp"] < result["ci_high"]
    none = rmse_qpp([1, 2, 3, 4], [1, 2, 3, 4])
    assert (none["ci_low"], none["ci_high"]) == (0, 0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_interval_of_rmse_has_the_values_unit(scale):
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 30))
    one, other = rmse_qpp(x, y), rmse_qpp(x * scale, y * scale)
    for end in ("ci_low", "ci_high"):
        assert other[end] == pytest.approx(one[end] * scale, rel=1e-9)


def test_rmse_of_huge_and_of_no_errors():
    assert rmse_qpp([1e200, 0], [0, 1e200])["rmse_qpp"] == pytest.approx(1e200, rel=1e-12)
    assert rmse_qpp([1, 2, 3], [1, 2, 3])["rmse_qpp"] == 0


def test_the_report_holds_what_the_measures_give():
    rng = np.random.default_rng(3)
    x, y = rng.random(50), rng.random(50)
    report = qpp_report(x, y, confidence=0.9)
    assert list(report) == ["pearson_qpp", "spearman_qpp", "kendall_qpp", "smare", "rmse_qpp"]
    assert report["pearson_qpp"] == pearson_qpp(x, y, confidence=0.9)
    for name, result in report.items():
        assert set(result) == {name, "p_value", "ci_low", "ci_high", "n"}
        assert result["ci_low"] <= result[name] <= result["ci_high"]
