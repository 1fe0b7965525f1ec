"""Ties, ranks and intervals that the QPP measures and tests share."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._types import Floats, Integers

# Float noise is no order: differences up to this share of the values' range are ties.
TIE_TOLERANCE = 1e-12

# How an interval of a QPP measure is made: by influences, or as if the values were normal.
INTERVALS = ("influence", "classic")


def starts_of_ties(ordered: Floats | Integers, tie_tolerance: float) -> NDArray[np.bool_]:
    """Which of some values in rising order, float64 (n,), is the first of its group of ties.

    Values are in a group where each step between neighbours is at most `tie_tolerance` of the
    range of all; with 0 only equal values are.
    """
    # Halves, because the range of two finite numbers may be none.
    limit = 2 * tie_tolerance * (ordered[-1] / 2 - ordered[0] / 2)
    with np.errstate(over="ignore"):
        return np.concatenate([[True], ordered[1:] - ordered[:-1] > limit])


def merge_ties(values: Floats, tie_tolerance: float) -> Floats:
    """Give all values of a group of ties (see `starts_of_ties`) the lowest of them, (n,)."""
    if not tie_tolerance:
        return values
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = starts_of_ties(ordered, tie_tolerance)
    if starts.all():
        return values
    merged = np.empty_like(values)
    merged[order] = ordered[starts][np.cumsum(starts) - 1]
    return merged


def average_ranks(values: Floats | Integers, tie_tolerance: float = 0.0) -> Floats:
    """Ranks from 1, ties (see `starts_of_ties`) sharing the mean of theirs, as float64 (n,)."""
    order = np.argsort(values, kind="stable")
    starts_group = starts_of_ties(values[order], tie_tolerance)
    starts = np.flatnonzero(starts_group)
    ends = np.append(starts[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = ((starts + ends + 1) / 2)[np.cumsum(starts_group) - 1]
    return ranks


def fisher_interval(
    value: float, n: int, variance: float, lost: int, confidence: float
) -> tuple[float, float]:
    """Interval of a correlation by Fisher's z, whose variance is `variance` / (n - `lost`).

    (NaN, NaN) for a NaN value or n <= lost. A value of 1 or -1 has an infinite z, and the interval
    is that single point.
    """
    from scipy.special import ndtri

    if math.isnan(value) or n <= lost:
        return math.nan, math.nan
    if abs(value) >= 1:
        return value, value
    reach = float(ndtri((1 + confidence) / 2)) * math.sqrt(variance / (n - lost))
    z = math.atanh(value)
    return math.tanh(z - reach), math.tanh(z + reach)


def mean_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """Student's t interval of the mean of independent values; NaN for fewer than 2."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return math.nan, math.nan
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / math.sqrt(n)
    mean = float(values.mean())
    return mean - reach, mean + reach


def normal_two_sided(z: float) -> float:
    """Two-sided p-value of a standard normal value; NaN for NaN."""
    return math.erfc(abs(z) / math.sqrt(2))
