"""The QPP measures of many bootstrap resamples, given how often each query was drawn.

Kendall's tau counts pairs. Over thousands of resamples of the same queries the signs of the pairs
stay and only the weights change, so all the counts are one product of matrices, of small integers
that single precision holds exactly.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._pairs import unit_deviations

# Entries of a table of draws, few enough to stay below a few hundred megabytes.
_DRAWN_AT_ONCE = 4_000_000
_COUNTED_AT_ONCE = 32


def draws_of_queries(
    n: int, resamples: int, seed: int, at_once: int = _DRAWN_AT_ONCE
) -> Iterator[NDArray[np.float32]]:
    """How often each of n queries is drawn in each resample, some resamples at a time."""
    generator = np.random.default_rng(seed)
    step = max(1, at_once // n)
    for start in range(0, resamples, step):
        counts = np.empty((min(step, resamples - start), n), dtype=np.float32)
        # Counting a few resamples at a time keeps their counters in the cache.
        for first in range(0, len(counts), _COUNTED_AT_ONCE):
            part = counts[first : first + _COUNTED_AT_ONCE]
            drawn = generator.integers(0, n, part.shape) + n * np.arange(len(part))[:, None]
            part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
        yield counts


def percentile_interval(drawn: Floats, confidence: float) -> tuple[float, float]:
    """The interval that leaves out as many of the resamples' values at each end."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_p_value(drawn: Floats) -> float:
    """Twice the share of resamples on the lesser side of 0, counting one more of both."""
    lesser = min((drawn <= 0).sum(), (drawn >= 0).sum())
    return min(1.0, 2 * float(lesser + 1) / (len(drawn) + 1))


def sign_flips(
    differences: Floats, permutations: int, confidence: float, seed: int
) -> tuple[Floats, Floats]:
    """Tests that paired differences have mean 0: whose value it was is shuffled.

    Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter 3. A flip
    leaves the sum of squares as it is, so the mean and Student's t are in one order: the test is of
    both. The data itself counts as one, so that p is never 0. All columns share the draws; the
    order of the rows does not matter.

    Args:
        differences: float64 (queries, columns).
        permutations: How many flips to draw.
        confidence: Level of the intervals.
        seed: Of the flips.

    Returns:
        Two-sided p-values, (columns,), and half the lengths of the intervals of the means by the
        flips' t; NaN for a single query, infinite where so few queries set no bound.
    """
    n, columns = differences.shape
    differences = np.sort(differences, axis=0)
    sums = np.abs(differences.sum(axis=0))
    generator, after = np.random.default_rng(seed), [sums[None]]
    step = max(1, _DRAWN_AT_ONCE // n)
    for start in range(0, permutations, step):
        rows = min(step, permutations - start)
        signs = 2.0 * generator.integers(0, 2, (rows, n), dtype=np.int8) - 1.0
        after.append(np.abs(signs @ differences))
    flipped = np.concatenate(after)
    # A swap that gives the same difference must count, whatever its last digit.
    least = sums * (1 - 1e-12) - 1e-15 * np.abs(differences).sum(axis=0)
    p_values = (flipped >= least).sum(axis=0) / (permutations + 1)
    if n < 2:
        return p_values, np.full(columns, math.nan)
    critical = np.quantile(flipped, confidence, axis=0, method="higher") / n
    largest = np.abs(differences).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    square, critical = ((differences / unit) ** 2).mean(axis=0), critical / unit
    own = square - (differences / unit).mean(axis=0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        half = unit * critical * np.sqrt(own / np.maximum(square - critical**2, 0.0))
    return p_values, np.where(own <= 1e-14 * square, 0.0, half)


# Sums within a block stay far below 2**24, beyond which single precision skips integers.
_BLOCK = 1024


def signs(left: Floats, right: Floats) -> NDArray[np.float32]:
    """Sign of every difference left[i] - right[j], as float32 (..., left, right)."""
    left, right = left[..., :, None], right[..., None, :]
    return ((left > right).view(np.int8) - (left < right).view(np.int8)).astype(np.float32)


def pair_sums(
    weights: NDArray[np.float32], symmetric_block: Callable[[slice, slice], NDArray[np.float32]]
) -> Floats:
    """For each row w of weights, the sum over all i, j of w[i] w[j] matrix[i, j], exact.

    Args:
        weights: float32 whole numbers, shape (resamples, n).
        symmetric_block: Takes two slices, returns that block of a symmetric matrix of small
            whole numbers, float32.
    """
    n = weights.shape[1]
    total = np.zeros(len(weights))
    slices = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
    for first, rows in enumerate(slices):
        left = np.ascontiguousarray(weights[:, rows])
        for columns in slices[first:]:
            product = left @ symmetric_block(rows, columns)
            part = np.einsum("ij,ij->i", product, weights[:, columns]).astype(np.float64)
            total += part if rows is columns else 2 * part
    return total


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
    is_constant = np.minimum(x_square, y_square) < 1 / (8 * n)
    scale = np.sqrt(np.where(is_constant, 0, x_square * y_square))
    return _ratio(np.einsum("ij,ij,ij->i", weights, x, y), scale)


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


OF_RESAMPLES = dict(
    kendall=_kendall, pearson=_pearson, spearman=_spearman, smare=_smare, rmse=_rmse
)
