"""Comparison over seeds: jackknifed values, and how often equally good predictors are rejected."""

import numpy as np
import pytest
from scipy import stats

from pqpp_metrics.functional import paired_permutation, paired_seeds, rmse_qpp
from pqpp_metrics.functional.qpp_report import QPP_MEASURES


def jackknife(columns, y):
    """Return the RMSE of each seed, and its jackknifed values over queries."""
    errors = np.array([rmse_qpp(x, y)["rmse_qpp"] for x in columns.T])
    n = len(y)
    without_query = [
        [rmse_qpp(np.delete(x, i), np.delete(y, i))["rmse_qpp"] for i in range(n)]
        for x in columns.T
    ]
    return errors, n * errors[:, None] - (n - 1) * np.array(without_query)


def test_seed_comparison_agrees_with_jackknifed_values():
    rng = np.random.default_rng(5)
    y = rng.standard_normal(100)
    sides = [
        y[:, None] + scale * rng.standard_normal((100, seeds)) * (1 + rng.random(seeds))
        for scale, seeds in ((0.4, 4), (0.6, 3))
    ]
    values = [jackknife(side, y) for side in sides]
    contrast = values[0][1].mean(axis=0) - values[1][1].mean(axis=0)
    variances, freedoms = [contrast.var(ddof=1) / 100], []
    for means, table in values:
        interaction = table - table.mean(axis=0) - (table.mean(axis=1) - table.mean())[:, None]
        noise = (interaction**2).sum() / ((len(means) - 1) * 99)
        variances.append(max(means.var(ddof=1) - noise / 100, 0) / len(means))
        freedoms.append(len(means) - 1)
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
def test_equal_seeds_count_as_one(statistic):
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


def test_comparison_without_a_correlation_is_nan():
    found = paired_seeds(np.ones((9, 2)), np.arange(18.0).reshape(9, 2), np.arange(9.0))
    assert np.isnan([found["paired_seeds"], found["p_value"], found["ci_low"]]).all()


@pytest.mark.parametrize("statistic", ["pearson", "rmse"])
def test_long_tails_have_no_p_value(statistic):
    """Lognormal noise would be rejected against equal quality in 10% by r, in 20% by the RMSE."""
    rng, rejections = np.random.default_rng(0), 0
    for _ in range(200):
        y, (noise, tailed) = rng.standard_normal(100), rng.standard_normal((2, 100, 1))
        tailed = (np.exp(tailed) - np.exp(0.5)) / np.sqrt(np.e * (np.e - 1))
        sides = [y[:, None] + own + 0.5 * rng.standard_normal((100, 3)) for own in (noise, tailed)]
        found = paired_seeds(*sides, y, statistic)
        rejections += found["p_value"] <= 0.05
        assert np.isnan(found["p_value"]) == np.isnan(found["ci_low"]) == bool(found["why"])
    assert rejections <= 18  # 16 are 8%
    fewer = paired_seeds(*(side[:99] for side in sides), y[:99], statistic)
    assert fewer["why"] and np.isnan(fewer["p_value"])
    assert not paired_seeds(*(side[:99] for side in sides), y[:99])["why"]


@pytest.mark.slow
def test_equally_good_predictors_are_seldom_rejected():
    from support.tiny_models import load_script

    script = load_script("calibration", "benchmarks")
    for kind in script.SEEDS:
        both, queries = script.compare_seed_tests(kind, "pearson", 100, 4, 500)
        assert np.nanmean(both) <= 0.08
    assert queries.mean() > 0.2  # no account of the variance over seeds
