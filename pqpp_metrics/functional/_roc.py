"""The ROC curves of AUC-Judd, with thresholds at the fixated pixels, and of sAUC, with all."""

from __future__ import annotations

import math
from types import ModuleType

from pqpp_metrics.functional._maps import OF_PYSALIENCY
from pqpp_metrics.functional._types import Array


def auc_of_map(xp: ModuleType, prediction: Array, truth: Array, convention: str) -> float:
    """AUC-Judd of one map, its pixels in a row; NaN without fixated or other pixels."""
    fixated = truth > 0
    at_fixations = prediction[fixated]
    hits, others = at_fixations.shape[0], prediction.shape[0] - at_fixations.shape[0]
    if hits == 0 or others == 0:
        return math.nan
    at_fixations, times = _sorted_with(xp, at_fixations, _times(xp, truth, fixated, convention))
    # At or above each threshold: all pixels, counted in the sorted map.
    above = prediction.shape[0] - xp.searchsorted(
        xp.sort(prediction, stable=False), at_fixations, side="left"
    )
    if convention in ("mit", "richhf"):
        area = _area_one_by_one(xp, above, hits, others, convention)
        if 0 <= area <= 1:
            return area
    return _area_of_distinct(xp, at_fixations, times, above, others, convention == "unisal")


def auc_against(
    xp: ModuleType, values: Array, times: Array, others: Array, other_times: Array
) -> float:
    """Chance that a value is above another one, half for equal ones, each as often as it counts.

    NaN where there are none on a side.
    """
    others, other_times = _sorted_with(xp, others, other_times)
    reached = _running(xp, other_times)
    if values.shape[0] == 0 or others.shape[0] == 0:
        return math.nan
    sides = (xp.searchsorted(others, values, side=side) for side in ("left", "right"))
    below, up_to = (xp.take(reached, place) / reached[-1] for place in sides)
    return float(xp.sum(times / xp.sum(times) * (below + up_to))) / 2


def _times(xp, truth, fixated, convention):
    """How often each fixated pixel counts; None where all count alike."""
    if convention not in OF_PYSALIENCY or xp.isdtype(truth.dtype, "bool"):
        return None
    times = truth[fixated]
    return times if float(xp.min(times)) < float(xp.max(times)) else None


def _sorted_with(xp, values, times):
    """Values in ascending order, and how often each counts."""
    if times is None:
        return xp.sort(values, stable=False), None
    order = xp.argsort(values, stable=False)
    return xp.take(values, order), xp.take(times, order)


def _running(xp, times):
    """The sums of the first 0, 1, 2, ... of them."""
    return xp.concat([xp.zeros_like(times[:1]), xp.cumulative_sum(times)])


def _area_of_distinct(xp, at_fixations, times, above, others, rounded):
    """Area where equal predictions pass their threshold together."""
    hits, lower = at_fixations.shape[0], xp.searchsorted(at_fixations, at_fixations, side="left")
    found = hits - lower
    # From the highest threshold down; equal thresholds are equal points and add no area.
    true_rate = xp.flip(xp.astype(found, xp.float64)) / hits
    if times is not None:
        reached = _running(xp, times)
        true_rate = xp.flip(1 - xp.take(reached, lower) / reached[-1])
    false_rate = xp.flip(xp.astype(above - found, xp.float64)) / others
    if rounded:
        true_rate, false_rate = (_round4(xp, rate) for rate in (true_rate, false_rate))
    return _trapezoids(xp, true_rate, false_rate)


def _area_one_by_one(xp, above, hits, others, convention):
    """Area of the published loops, which pass the fixated pixels one by one."""
    place = xp.astype(xp.arange(1, hits + 1), xp.float64)
    if hasattr(above, "device"):
        place = xp.asarray(place, device=above.device)
    # The "richhf" loop subtracts one fixated pixel too few.
    counted = place - 1 if convention == "richhf" else place
    false_rate = (xp.flip(xp.astype(above, xp.float64)) - counted) / others
    return _trapezoids(xp, place / hits, false_rate)


def _trapezoids(xp, true_rate, false_rate):
    """Area under the points between (0, 0) and (1, 1), joined by straight lines."""
    zero, one = xp.zeros_like(true_rate[:1]), xp.ones_like(true_rate[:1])
    y = xp.concat([zero, true_rate, one])
    x = xp.concat([zero, false_rate, one])
    return float(xp.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]))) / 2


def _round4(xp, values):
    """Round to four decimals."""
    return xp.round(values * 1e4) / 1e4
