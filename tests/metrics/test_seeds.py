"""Comparison over seeds: by jackknifed values, and how often equally good ways are told apart."""

import numpy as np
import pytest
from scipy import stats

from pqpp_metrics.functional import paired_permutation, paired_seeds, rmse_qpp
from pqpp_metrics.functional.qpp_report import QPP_MEASURES


def jackknifed(columns, y):
    """The RMSE of each seed, and the values that leaving out each query gives, by the function."""
    whole = np.array([rmse_qpp(x, y)["rmse_qpp"] for x in columns.T])
    n = len(y)
    left = [
        [rmse_qpp(np.delete(x, i), np.delete(y, i))["rmse_qpp"] for i in range(n)]
        for x in columns.T
    ]
    return whole, n * whole[:, None] - (n - 1) * np.array(left)


def test_an_analysis_of_jackknifed_values():
    rng = np.random.default_rng(5)
    y = rng.standard_normal(100)
    sides = [
        y[:, None] + scale * rng.standard_normal((100, seeds)) * (1 + rng.random(seeds))
        for scale, seeds in ((0.4, 4), (0.6, 3))
    ]
    values = [jackknifed(side, y) for side in sides]
    contrast = values[0][1].mean(axis=0) - values[1][1].mean(axis=0)
    variances, freedoms = [contrast.var(ddof=1) / 100], []
    for whole, table in values:
        apart = table - table.mean(axis=0) - (table.mean(axis=1) - table.mean())[:, None]
        rest = (apart**2).sum() / ((len(whole) - 1) * 99)
        variances.append(max(whole.var(ddof=1) - rest / 100, 0) / len(whole))
        freedoms.append(len(whole) - 1)
    fourth = ((contrast - contrast.mean()) ** 4).mean() / contrast.var() ** 2
    freedoms = [min(99, 2 * 100 / (fourth - 1)), *freedoms]
    error = np.sqrt(sum(variances))
    freedom = error**4 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    found = paired_seeds(*sides, y, "rmse")
    difference = values[0][0].mean() - values[1][0].mean()
    assert found["paired_seeds"] == pytest.approx(difference)
    assert found["seed_share"] == pytest.approx(1 - variances[0] / error**2) and variances[2] > 0
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(difference) / error, freedom))
    reach = stats.t.ppf(0.975, freedom) * error
    assert [found["ci_low"], found["ci_high"]] == pytest.approx(
        [difference - reach, difference + reach]
    )


@pytest.mark.parametrize("statistic", QPP_MEASURES)
def test_seeds_that_are_all_alike_are_one(statistic):
    rng = np.random.default_rng(9)
    x, other, y = rng.standard_normal((3, 120))
    x, other = y + x, y + 2 * other
    found = paired_seeds(np.stack([x] * 3, 1), other[:, None], y, statistic)
    alone = paired_permutation(x, other, y, statistic)
    assert found["paired_seeds"] == pytest.approx(alone["paired_permutation"])
    assert found["value"] == pytest.approx(alone["value"]) and found["seed_share"] == 0
    assert found["p_value"] == pytest.approx(alone["p_value"], abs=0.03)
    turned = paired_seeds(other[:, None], np.stack([x] * 3, 1), y, statistic)
    assert turned["ci_low"] == pytest.approx(-found["ci_high"])


def test_no_correlation_no_comparison():
    found = paired_seeds(np.ones((9, 2)), np.arange(18.0).reshape(9, 2), np.arange(9.0))
    assert np.isnan([found["paired_seeds"], found["p_value"], found["ci_low"]]).all()


@pytest.mark.parametrize("statistic", ["pearson", "rmse"])
def test_long_tails_that_no_sample_shows_have_no_p_value(statistic):
    """A way with lognormal noise is told from an equally good one in 10% by r, 20 by the RMSE."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(200):
        y, (noise, tailed) = rng.standard_normal(100), rng.standard_normal((2, 100, 1))
        tailed = (np.exp(tailed) - np.exp(0.5)) / np.sqrt(np.e * (np.e - 1))
        sides = [y[:, None] + own + 0.5 * rng.standard_normal((100, 3)) for own in (noise, tailed)]
        found = paired_seeds(*sides, y, statistic)
        wrong += found["p_value"] <= 0.05
        assert np.isnan(found["p_value"]) == np.isnan(found["ci_low"]) == bool(found["why"])
    assert wrong <= 18  # 16 are 8%
    few = paired_seeds(*(side[:99] for side in sides), y[:99], statistic)
    assert few["why"] and np.isnan(few["p_value"])
    assert not paired_seeds(*(side[:99] for side in sides), y[:99])["why"]


@pytest.mark.slow
def test_equally_good_ways_are_told_apart_as_often_as_said():
    from support.tiny_models import load_script

    script = load_script("calibration", "benchmarks")
    for kind in script.SEEDS:
        both, queries = script.compare_seed_tests(kind, "pearson", 100, 4, 500)
        assert np.nanmean(both) <= 0.08
    assert queries.mean() > 0.2  # seeds that differ much, taken for all that there are
