"""Pairs of a predicted and a true value: their linear correlation, their ties and ranks."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._containers import Floats, Integers, Values
from pqpp_metrics.functional._inputs import alike_floats, require_between, wrong_shape


def paired_values(predictions: Values, references: Values, **others: Any) -> list[Floats]:
    """Check predicted, true and other values; return float64 arrays (n,), n at least 2."""
    values = alike_floats(1, predictions=predictions, references=references, **others)
    if len(values[0]) < 2:
        raise wrong_shape("predictions", values[0], "a correlation needs at least 2 pairs")
    return values


def ranked_pairs(predictions: Values, references: Values, tie_tolerance: float) -> list[Floats]:
    """The average ranks of predicted and true values, checked as in `paired_values`."""
    tolerance = require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    return [average_ranks(side, tolerance) for side in paired_values(predictions, references)]


def is_constant(values: NDArray[Any]) -> bool:
    """Whether all values of a numpy array are equal."""
    return bool((values == values[0]).all())


def pearson_correlation(x: Floats, y: Floats) -> float:
    """Pearson's r of two numpy float64 arrays of equal length; NaN if one is constant."""
    if is_constant(x) or is_constant(y):
        return math.nan
    r = float((unit_deviations(x) * unit_deviations(y)).sum())
    return min(1.0, max(-1.0, r))


def unit_deviations(values: Floats) -> Floats:
    """Deviations from the mean, as a vector of length 1."""
    # Powers of two rescale exactly, so no sum or square can overflow or vanish.
    values = _to_unit_range(values)
    deviations = _to_unit_range(values - values.mean())
    # Values that differ in their last digits only: the first mean was rounded to one of them.
    deviations = deviations - deviations.mean()
    return deviations / np.sqrt((deviations * deviations).sum())


def scaled_deviations(values: Floats) -> Floats:
    """Deviations from the median over their mean size: few extreme values move neither much."""
    values = _to_unit_range(values)
    deviations = _to_unit_range(values - np.median(values))
    return deviations / np.abs(deviations).mean()


def _to_unit_range(values):
    """Scale by a power of two so that the largest absolute value lies in [0.5, 1)."""
    return np.ldexp(values, -np.frexp(np.abs(values).max())[1])


# Float noise is no order: differences up to this share of the values' range are ties.
TIE_TOLERANCE = 1e-12


def merge_ties(values: Floats | Integers, tie_tolerance: float) -> Floats | Integers:
    """Give all values of a group of ties the lowest of them, (n,).

    Values are in a group where each step between neighbours is at most `tie_tolerance` of the
    range of all; with 0 only equal values are.
    """
    if not tie_tolerance:
        return values
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # Halves, because the range of two finite numbers may be none.
    limit = 2 * tie_tolerance * (ordered[-1] / 2 - ordered[0] / 2)
    with np.errstate(over="ignore"):
        starts = np.concatenate([[True], ordered[1:] - ordered[:-1] > limit])
    if starts.all():
        return values
    merged = np.empty_like(values)
    merged[order] = ordered[starts][np.cumsum(starts) - 1]
    return merged


def average_ranks(values: Floats | Integers, tie_tolerance: float = 0.0) -> Floats:
    """Ranks from 1, ties (see `merge_ties`) sharing the mean of theirs, as float64 (n,)."""
    merged = merge_ties(values, tie_tolerance)
    _, group, counts = np.unique(merged, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[group]
