"""The QPP measures of many bootstrap resamples, given how often each query was drawn."""

import numpy as np

from pqpp_metrics.functional._pairs import unit_deviations
from pqpp_metrics.functional._quadratic import pair_sums, signs


def _kendall(weights, x, y):
    """Kendall's tau-b of each resample, float64 (resamples,); NaN where a side is constant.

    `weights` says how often each query was drawn, float32 (resamples, n).
    """
    concordance = pair_sums(weights, lambda i, j: signs(x[i], x[j]) * signs(y[i], y[j]))
    pairs = _pairs_that_differ(weights, x) * _pairs_that_differ(weights, y)
    return _ratio(concordance, np.sqrt(pairs))


def _pairs_that_differ(weights, values):
    """Ordered pairs of drawn queries with different values, of each resample."""
    distinct = len(np.unique(values)) == len(values)
    groups = weights if distinct else _weights_of_groups(weights, values)[0]
    # Whole numbers below 2**24: single precision adds them up without rounding.
    repeats = np.einsum("ij,ij->i", groups, groups).astype(np.float64)
    return float(weights.shape[1]) ** 2 - repeats


def _weights_of_groups(weights, values):
    """How often each distinct value was drawn, in rising order; and each query's group."""
    _, number = np.unique(values, return_inverse=True)
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1, dtype=np.float64), number


def _pearson(weights, x, y):
    """Pearson's r of each resample; arguments and result as of `_kendall`."""
    x, y = unit_deviations(x), unit_deviations(y)
    columns = np.stack([x, y, x * x, y * y, x * y], axis=1)
    sums = weights.astype(np.float64) @ columns / weights.shape[1]
    x_mean, y_mean, x_square, y_square, product = sums.T
    x_variance, y_variance = x_square - x_mean**2, y_square - y_mean**2
    # A constant resample leaves a variance of rounding errors.
    x_variance[x_variance <= 1e-14 * x_square] = 0
    y_variance[y_variance <= 1e-14 * y_square] = 0
    return _ratio(product - x_mean * y_mean, np.sqrt(x_variance * y_variance))


def _spearman(weights, x, y):
    """Spearman's rho of each resample; arguments and result as of `_kendall`."""
    n = weights.shape[1]
    x, y = _centred_ranks(weights, x), _centred_ranks(weights, y)
    x_square = np.einsum("ij,ij,ij->i", weights, x, x)
    y_square = np.einsum("ij,ij,ij->i", weights, y, y)
    # Ranks are multiples of 1/2: a sum of squares this small is that of a constant.
    product = np.sqrt(
        np.where(np.minimum(x_square, y_square) < 1 / (8 * n), 0, x_square * y_square)
    )
    return _ratio(np.einsum("ij,ij,ij->i", weights, x, y), product)


def _smare(weights, x, y):
    """The sMARE of each resample; arguments and result as of `_kendall`."""
    n = weights.shape[1]
    distance = np.abs(_centred_ranks(weights, x) - _centred_ranks(weights, y))
    return np.einsum("ij,ij->i", weights, distance) / n**2


def _centred_ranks(weights, values):
    """Rank of each query within each resample, minus the mean rank (n + 1) / 2."""
    groups, number = _weights_of_groups(weights, values)
    before = np.cumsum(groups, axis=1) - groups
    return (before + groups / 2 - weights.shape[1] / 2)[:, number]


def _rmse(weights, x, y):
    """The RMSE of each resample; arguments and result as of `_kendall`."""
    errors = np.abs(x - y)
    largest = errors.max() or 1.0  # so that no square overflows or vanishes
    squares = (errors / largest) ** 2
    return largest * np.sqrt(weights.astype(np.float64) @ squares / weights.shape[1])


def _ratio(value, divisor):
    """Value over divisor; NaN where the divisor is 0."""
    some = divisor > 0
    return np.where(some, value / np.where(some, divisor, 1.0), np.nan)


OF_RESAMPLES = {
    "kendall": _kendall,
    "pearson": _pearson,
    "spearman": _spearman,
    "smare": _smare,
    "rmse": _rmse,
}
