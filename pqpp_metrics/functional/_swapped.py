"""The QPP measures of two predictors after random swaps of their predictions.

In each swap a query keeps its predictions (1) or exchanges them (0). Every function returns the
difference of the measure between the two predictors after the swap, one value a swap.
"""

import numpy as np

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._pairs import average_ranks, scaled_deviations, unit_deviations
from pqpp_metrics.functional._resampled import pair_sums, signs

# Rows of a matrix of all pairs that are built at once.
_ROWS = 512


def prepared(
    statistic: str, x: Floats, other: Floats, tie_tolerance: float
) -> tuple[Floats, Floats]:
    """Two predictors' values on a scale that they share, for `statistic`.

    Deviations from the median over their mean size, so that a swap mixes no units; of measures of
    ranks the ranks of all these together. Were each predictor ranked by itself, neighbours that two
    like predictors order differently would tie in half of the swaps, and the difference look too
    large.
    """
    if statistic == "rmse":
        return x, other
    scores = np.concatenate([scaled_deviations(x), scaled_deviations(other)])
    if statistic != "pearson":
        scores = average_ranks(scores, tie_tolerance)
    return scores[: len(x)], scores[len(x) :]


def _pearson(swaps, a, b, y):
    """Difference of Pearson's r after each swap.

    `swaps` is float32 (swaps, n), 1 keeps, 0 exchanges the predictions `a` and `b` of a query; `y`
    are the references.
    """
    n, keep, y = len(y), swaps.astype(np.float64), unit_deviations(y) * np.sqrt(len(y))
    sums = keep @ np.stack([a, b, a * a, b * b, a * y, b * y], axis=1) / n
    whole = np.array([v.sum() / n for v in (a, b, a * a, b * b, a * y, b * y)])
    first = sums[:, 0::2] + whole[1::2] - sums[:, 1::2]
    second = sums[:, 1::2] + whole[0::2] - sums[:, 0::2]
    return _r(*first.T) - _r(*second.T)


def _r(mean, square, product):
    """Pearson's r with a standardised vector, from moments; 0 for a constant."""
    variance = square - mean * mean
    some = variance > 1e-14 * square
    return np.where(some, product / np.sqrt(np.where(some, variance, 1.0)), 0.0)


def _spearman(swaps, a, b, y):
    """Difference of Spearman's rho after each swap; arguments as of `_pearson`."""
    from scipy.stats import rankdata

    y, rhos = unit_deviations(average_ranks(y)), []
    for values in _exchanged(swaps, a, b):
        ranks = rankdata(values, axis=1) - (len(y) + 1) / 2
        length = np.sqrt((ranks * ranks).sum(axis=1))
        rhos.append(np.where(length > 0, ranks @ y / np.where(length > 0, length, 1.0), 0.0))
    return rhos[0] - rhos[1]


def _smare(swaps, a, b, y):
    """Difference of sMARE after each swap; arguments as of `_pearson`."""
    from scipy.stats import rankdata

    y, sides = average_ranks(y), _exchanged(swaps, a, b)
    first, second = (np.abs(rankdata(side, axis=1) - y).sum(axis=1) for side in sides)
    return (first - second) / len(y) ** 2


def _exchanged(swaps, a, b):
    """The predictions of both predictors after each swap, float64 (swaps, n) each."""
    keep = swaps.astype(bool)
    return np.where(keep, a, b), np.where(keep, b, a)


def _rmse(swaps, a, b, y):
    """Difference of RMSE after each swap; arguments as of `_pearson`."""
    largest = max(np.abs(a - y).max(), np.abs(b - y).max()) or 1.0
    first, second = ((a - y) / largest) ** 2, ((b - y) / largest) ** 2
    kept, n = swaps.astype(np.float64) @ (first - second), len(y)
    after = np.maximum(kept + second.sum(), 0.0), np.maximum(first.sum() - kept, 0.0)
    return largest * (np.sqrt(after[0] / n) - np.sqrt(after[1] / n))


def _kendall(swaps, a, b, y):
    """Difference of Kendall's tau-b after each swap; arguments as of `_pearson`.

    The sign of a pair depends on which of both queries were swapped. Summed over all pairs that
    is one quadratic form of the swaps, the same for both predictors, plus a linear one.
    """
    agree = _sums_after_swaps(swaps, a, b, lambda d, i, j: d * signs(y[i], y[j]))
    differ = _sums_after_swaps(swaps, a, b, _pairs_that_differ)
    _, repeats = np.unique(y, return_counts=True)
    y_pairs = len(y) ** 2 - float((repeats.astype(np.float64) ** 2).sum())
    taus = [
        np.where(pairs > 0, total / np.sqrt(np.where(pairs > 0, pairs, 1.0) * y_pairs), 0.0)
        for total, pairs in zip(agree, differ, strict=True)
    ]
    return taus[0] - taus[1]


def _pairs_that_differ(sign, i, j):
    """1 for a pair of different queries with different predictions, else 0."""
    differ = np.abs(sign)
    # A query makes no pair with itself, though its two predictions may differ.
    differ[np.arange(i.start, i.stop)[:, None] == np.arange(j.start, j.stop)] = 0
    return differ


def _sums_after_swaps(swaps, a, b, of_pairs):
    """Sum over all pairs of a function of their signs, for each predictor after each swap."""
    n = len(a)

    def block(left, right, i, j):
        return of_pairs(signs(left[i], right[j]), i, j)

    def quadratic(i, j):
        same, mixed = ((a, a), (b, b)), ((a, b), (b, a))
        return sum(block(*two, i, j) for two in same) - sum(block(*two, i, j) for two in mixed)

    def row_sums(left, right):
        rows = (slice(i, min(i + _ROWS, n)) for i in range(0, n, _ROWS))
        parts = [block(left, right, i, slice(0, n)).sum(axis=1, dtype=np.float64) for i in rows]
        return np.concatenate(parts)

    pairs, keep = pair_sums(swaps, quadratic), swaps.astype(np.float64)
    a_a, b_b = row_sums(a, a), row_sums(b, b)
    first = pairs + 2 * (keep @ (row_sums(a, b) - b_b)) + b_b.sum()
    second = pairs + 2 * (keep @ (row_sums(b, a) - a_a)) + a_a.sum()
    return first, second


OF_SWAPS = dict(kendall=_kendall, pearson=_pearson, spearman=_spearman, smare=_smare, rmse=_rmse)
