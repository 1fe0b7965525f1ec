"""The ROC curve of AUC-Judd, with thresholds at the fixated pixels."""

import math


def auc_of_map(xp, prediction, fixated, convention):
    """Area under the curve of one map, its pixels in a row; NaN without fixated or other pixels."""
    at_fixations = xp.sort(prediction[fixated], stable=False)
    hits, others = at_fixations.shape[0], prediction.shape[0] - at_fixations.shape[0]
    if hits == 0 or others == 0:
        return math.nan
    # At or above each threshold: all pixels, counted in the sorted map.
    above = prediction.shape[0] - xp.searchsorted(
        xp.sort(prediction, stable=False), at_fixations, side="left"
    )
    if convention in ("matlab", "richhf"):
        area = _area_one_by_one(xp, above, hits, others, convention)
        if 0 <= area <= 1:
            return area
    return _area_of_distinct(xp, at_fixations, above, others, rounded=convention == "unisal")


def _area_of_distinct(xp, at_fixations, above, others, rounded):
    """Area where equal predictions pass their threshold together."""
    hits = at_fixations.shape[0]
    found = hits - xp.searchsorted(at_fixations, at_fixations, side="left")
    # From the highest threshold down; equal thresholds are equal points and add no area.
    true_rate = xp.flip(xp.astype(found, xp.float64)) / hits
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
