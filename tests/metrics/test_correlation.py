import copy
import math
import pickle

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from support.intervals import compute_t_interval

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import kendall_qpp, pearson_qpp, rmse_qpp, smare, spearman_qpp

METRICS = [pearson_qpp, spearman_qpp, kendall_qpp]


def compute(metric, *args, **kwargs):
    return metric(*args, **kwargs)[metric.__name__]


def draw_sample(n, ties):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(n)
    y = 0.4 * x + rng.standard_normal(n)
    return (x.round(1), y.round(1)) if ties else (x, y)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [5, 12, 40, 2000])
def test_values_and_p_values_equal_scipy(n, ties):
    x, y = draw_sample(n, ties)
    pearson, reference = pearson_qpp(x, y), scipy.stats.pearsonr(x, y)
    assert pearson["pearson_qpp"] == pytest.approx(reference.statistic, abs=1e-12)
    assert pearson["p_value"] == pytest.approx(reference.pvalue, rel=1e-9, abs=1e-300)
    kendall, reference = kendall_qpp(x, y), scipy.stats.kendalltau(x, y)
    assert kendall["kendall_qpp"] == pytest.approx(reference.statistic, abs=1e-12)
    assert kendall["p_value"] == pytest.approx(reference.pvalue, rel=1e-12)
    spearman, reference = spearman_qpp(x, y), scipy.stats.spearmanr(x, y)
    assert spearman["spearman_qpp"] == pytest.approx(reference.statistic, abs=1e-12)
    assert spearman["p_value"] == pytest.approx(reference.pvalue, rel=1e-8, abs=1e-300)
    assert pearson["n"] == kendall["n"] == spearman["n"] == n


@given(st.integers(2, 45), st.integers(1, 60), st.integers(0, 3), st.randoms(use_true_random=False))
def test_kendall_p_value_equals_scipy(n, values, swaps, rng):
    """With and without ties, around n = 33 (up to which orders are counted), and near perfect."""
    x, y = (np.array([rng.randrange(values) for _ in range(n)]) for _ in range(2))
    if values > 30:
        x, y = np.arange(n), np.arange(n)[:: rng.choice([1, -1])].copy()
        for _ in range(swaps):
            index = rng.randrange(n - 1)
            y[[index, index + 1]] = y[[index + 1, index]]
    result, expected = kendall_qpp(x, y), scipy.stats.kendalltau(x, y)
    nan = {"nan_ok": True}
    assert result["kendall_qpp"] == pytest.approx(expected.statistic, abs=1e-12, **nan)
    assert result["p_value"] == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300, **nan)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("constant", [0.0, 0.1, -3e300, 1e-320])
def test_correlation_of_a_constant_is_nan(metric, swap, constant):
    x, y = [constant] * 6, [1, 2, 3, 4, 5, 6]
    result = metric(y, x) if swap else metric(x, y)
    assert result.n == 6
    assert all(math.isnan(value) for key, value in result.items() if key != "n")


@pytest.mark.parametrize("metric", [*METRICS, smare, rmse_qpp])
def test_an_interval_is_computed_when_it_is_read(metric):
    x, y = np.random.default_rng(3).normal(size=(2, 40))
    result = metric(x, y, confidence=0.9)
    assert result.interval() == (result["ci_low"], result["ci_high"]) == result.interval(0.9)
    wider = result.interval(0.99)
    assert wider[0] <= result["ci_low"] <= result.statistic <= result["ci_high"] <= wider[1]
    bare = metric(x, y, interval="none")
    assert (bare.statistic, bare.pvalue, bare.n) == (result.statistic, result.pvalue, 40)
    assert "ci_low" not in bare and dict(bare).keys() <= dict(result).keys()
    with pytest.raises(ValueError):
        bare.interval()
    with pytest.raises(MetricInputError, match="confidence"):
        result.interval(1.5)
    twin = pickle.loads(pickle.dumps(copy.copy(result)))
    assert (twin.statistic, twin.interval(0.9)) == (result.statistic, result.interval())
    with pytest.raises(ValueError, match="confidence"):
        twin.interval(0.99)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [5, 12, 40])
def test_pearson_interval_equals_leaving_every_pair_out(n, ties):
    x, y = draw_sample(n, ties)
    left = [scipy.stats.pearsonr(np.delete(x, i), np.delete(y, i)).statistic for i in range(n)]
    half_width = compute_t_interval((n - 1) * np.arctanh(left))
    result = pearson_qpp(x, y)
    z = math.atanh(result["pearson_qpp"])
    assert result["ci_low"] == pytest.approx(math.tanh(z - half_width), abs=1e-9)
    assert result["ci_high"] == pytest.approx(math.tanh(z + half_width), abs=1e-9)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    ("metric", "reference"),
    [(kendall_qpp, scipy.stats.kendalltau), (spearman_qpp, scipy.stats.spearmanr)],
)
def test_rank_intervals_equal_adding_every_pair_once(metric, reference, ties):
    """One further copy of a pair, added to 400 copies of the sample: the derivative by scipy."""
    x, y = draw_sample(12, ties)
    result, copies = metric(x, y, confidence=0.9), (np.tile(x, 400), np.tile(y, 400))
    z = math.atanh(result[metric.__name__])
    assert math.atanh(reference(*copies).statistic) == pytest.approx(z, abs=1e-3)
    added = [(np.append(copies[0], x[i]), np.append(copies[1], y[i])) for i in range(12)]
    values = [math.atanh(reference(*pair).statistic) for pair in added]
    half_width = compute_t_interval(np.array(values) * (12 * 400 + 1), 0.9)
    assert result["ci_low"] == pytest.approx(math.tanh(z - half_width), abs=2e-3)
    assert result["ci_high"] == pytest.approx(math.tanh(z + half_width), abs=2e-3)


def test_intervals_where_one_pair_carries_everything():
    step = pearson_qpp([0, 0, 0, 0, 1], [1, 2, 3, 4, 5])
    # Without the last pair the first sample is constant, and the second is a line.
    assert (step["ci_low"], step["ci_high"]) == (-1, 1)
    line = pearson_qpp(list(range(50)), [*range(49), 80])
    assert -1 < line["ci_low"] < line["pearson_qpp"] < line["ci_high"] < 1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_intervals_do_not_depend_on_the_scale(metric, scale):
    x, y = draw_sample(30, ties=False)
    ends = [[metric(x * s, y)[end] for end in ("ci_low", "ci_high")] for s in (1, scale)]
    assert ends[1] == pytest.approx(ends[0], rel=1e-9)


def test_intervals_cover_where_errors_grow_with_the_prediction():
    """A slice of benchmarks/calibration.py: 400 samples."""
    true, hits = {pearson_qpp: 1 / math.sqrt(3.25), kendall_qpp: 0.4365}, {}
    rng = np.random.default_rng(0)
    for _ in range(400):
        x, noise = rng.standard_normal((2, 100))
        for metric, value in true.items():
            low, high = metric(x, x + 1.5 * np.abs(x) * noise).interval()
            hits[metric] = hits.get(metric, 0) + (low <= value <= high) / 400
    assert all(0.91 <= share <= 0.98 for share in hits.values())


@pytest.mark.parametrize("metric", METRICS)
def test_a_perfect_line_correlates_fully(metric):
    up = metric([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
    assert up[metric.__name__] == pytest.approx(1, abs=1e-15)
    assert up["ci_high"] == pytest.approx(1, abs=1e-6)
    down = metric([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1])
    assert down[metric.__name__] == pytest.approx(-1, abs=1e-15)


def test_pearson_of_values_that_differ_in_the_last_digits():
    x = 1e15 + np.array([0, 0.125, 0.25, 0.375])
    assert compute(pearson_qpp, x, [1, 2, 3, 4]) == pytest.approx(1, abs=1e-12)
