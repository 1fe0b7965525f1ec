"""Pairs of a predicted and a true value: linear correlation, ties and ranks."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._containers import Floats, Integers, Values
from pqpp_metrics.functional._inputs import as_same_shape, require_between, shape_error


def as_pairs(predictions: Values, references: Values, ge: int = 2, **others: Any) -> list[Floats]:
    """Return all inputs as float64 arrays of the same shape (n,); raise if n is less than `ge`."""
    values = as_same_shape(1, predictions=predictions, references=references, **others)
    if len(values[0]) < ge:
        raise shape_error("predictions", values[0], f"must have at least {ge} values")
    return values


def as_merged_pairs(predictions: Values, references: Values, tie_tolerance: float) -> list[Any]:
    """Check predicted and true values as `as_pairs` does, and return them with merged ties."""
    tolerance = require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    pairs = as_pairs(predictions, references)
    return [merge_ties(side, tolerance) for side in pairs]


def is_constant(values: NDArray[Any]) -> bool:
    return bool((values == values[0]).all())


def compute_pearson_r(x: Floats, y: Floats) -> float:
    """Return Pearson's r of two float64 arrays (n,); NaN if one is constant."""
    if is_constant(x) or is_constant(y):
        return math.nan
    x, y = _subtract_mean(x), _subtract_mean(y)
    product, x_square, y_square = (
        float(np.einsum("i,i", *pair)) for pair in ((x, y), (x, x), (y, y))
    )
    r = product / math.sqrt(x_square * y_square)
    return min(1.0, max(-1.0, r))


def get_t_test_p_value(r: float, n: int) -> float:
    """Return the two-sided p-value of a correlation of n pairs, by Student's t-test.

    The test has n - 2 degrees of freedom (PQPP, section 3.3), and is exact for Pearson's r of
    bivariate normal data. The p-value is NaN for a NaN correlation, and 1.0 for two pairs, which
    are always on a line.
    """
    from scipy.special import betainc

    if math.isnan(r):
        return math.nan
    if n == 2:
        return 1.0
    # Without correlation, (r + 1) / 2 is Beta(n/2 - 1, n/2 - 1); both tails count.
    half = n / 2 - 1
    return float(2 * betainc(half, half, (1 - abs(r)) / 2))


def centre_to_unit_length(values: Floats) -> Floats:
    """Subtract the mean along the last axis, and scale to length one; constant values become 0."""
    deviations = _subtract_mean(values)
    length = np.sqrt(np.einsum("...i,...i->...", deviations, deviations))[..., None]
    deviations /= np.where(length > 0, length, 1.0)
    return deviations


def _subtract_mean(values):
    """Subtract the mean along the last axis, and scale by a power of two."""
    # Powers of two rescale exactly, so no sum or square can overflow or vanish.
    deviations = _to_unit_range(values)
    deviations -= deviations.mean(axis=-1, keepdims=True)
    _to_unit_range(deviations, out=deviations)
    # If values differ only in their last digits, the first mean was rounded to one of them.
    deviations -= deviations.mean(axis=-1, keepdims=True)
    return deviations


def standardise(values: Floats) -> Floats:
    """Subtract the median, and divide by the mean absolute deviation from it."""
    values = _to_unit_range(values)
    deviations = _to_unit_range(values - np.median(values, axis=-1, keepdims=True))
    size = np.abs(deviations).mean(axis=-1, keepdims=True)
    return deviations / np.where(size > 0, size, 1.0)


def _to_unit_range(values, out=None):
    """Scale rows by powers of two so that the largest absolute value is in [0.5, 1)."""
    highest, lowest = values.max(axis=-1, keepdims=True), values.min(axis=-1, keepdims=True)
    return np.ldexp(values, -np.frexp(np.maximum(highest, -lowest))[1], out=out)


# Differences up to this share of the values' range are ties, so that float noise is no order.
TIE_TOLERANCE = 1e-12


def merge_ties(values: Floats | Integers, tie_tolerance: float) -> Floats | Integers:
    """Replace tied values by the lowest value of their group, (n,).

    Neighbours in sorted order tie if they differ by at most `tie_tolerance` times the range of all
    values; with 0, only equal values do.
    """
    if not tie_tolerance:
        return values
    ordered = np.sort(values)
    # Use halves, because the range of two finite numbers may overflow.
    limit = 2 * tie_tolerance * (ordered[-1] / 2 - ordered[0] / 2)
    with np.errstate(over="ignore"):
        starts = np.concatenate([[True], ordered[1:] - ordered[:-1] > limit])
    if starts.all():
        return values
    merged = np.empty_like(values)
    merged[np.argsort(values)] = ordered[starts][np.cumsum(starts) - 1]
    return merged


class PairOrder:
    """The ranks and ties of values along the last axis, (..., n)."""

    def __init__(self, values: Floats | Integers) -> None:
        """Order the values; equal values are ties."""
        n = values.shape[-1]
        self._order = np.argsort(values, axis=-1)
        ordered = np.take_along_axis(values, self._order, axis=-1)
        is_new = np.ones(values.shape, bool)
        is_new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        start = np.broadcast_to(np.arange(n), values.shape)
        end = start + 1
        self.is_tied = not is_new.all()
        if self.is_tied:
            is_last = np.concatenate([is_new[..., 1:], np.ones_like(is_new[..., :1])], axis=-1)
            start = np.maximum.accumulate(np.where(is_new, start, 0), axis=-1)
            end = np.where(is_last, end, n)[..., ::-1]
            end = np.minimum.accumulate(end, axis=-1)[..., ::-1]
        self._start = np.empty_like(self._order)
        np.put_along_axis(self._start, self._order, start, axis=-1)
        self._end = self._start + 1
        if self.is_tied:
            np.put_along_axis(self._end, self._order, end, axis=-1)
        self.ranks = (self._start + self._end + 1) / 2
        self.sizes = self._end - self._start  # the number of values tied with each one

    def sum_above(self, weights: Floats) -> Floats:
        """Return, for each value, the summed weights of higher values and half of equal values."""
        sums = np.cumsum(np.take_along_axis(weights, self._order, axis=-1), axis=-1)
        sums = np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)
        sums_at = [np.take_along_axis(sums, end, axis=-1) for end in (self._start, self._end)]
        return sums[..., -1:] - (sums_at[0] + sums_at[1]) / 2
