"""The saliency metrics of one map in each convention; see `saliency` for the conventions.

The thresholds of AUC-Judd's ROC curve are the predictions at the fixated pixels.
"""

import math
from types import ModuleType

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs, _maps
from pqpp_metrics.functional._containers import Array
from pqpp_metrics.functional._maps import OF_PYSALIENCY, SCALE_ERROR, MapPair

_RICHHF_EPSILON = 1e-8
_EPSILON = dict.fromkeys(("tuebingen", "unisal"), 2.2204e-16)
_EPSILON |= {"mit": 2.0**-52, "richhf": _RICHHF_EPSILON}
_PYSALIENCY_FLOOR = 1e-20


def compute_nss(maps: MapPair, convention: str) -> float:
    xp, pixels, mean = maps.p.xp, maps.p.pixels, maps.p.total / maps.p.pixels
    repeated = convention in OF_PYSALIENCY
    hits = above = 0.0
    for p, q in zip(maps.p.bands, maps.q.bands, strict=True):
        fixated = q if xp.isdtype(q.dtype, "bool") else q > 0
        deviation = p[fixated] - mean
        if repeated and fixated is not q:
            counts = q[fixated]
            hits, above = hits + float(xp.sum(counts)), above + float(xp.sum(deviation * counts))
        else:
            hits, above = hits + deviation.shape[0], above + float(xp.sum(deviation))
    if hits == 0 or (maps.p.is_flat and convention in ("mit", "unisal")):
        return math.nan
    if maps.p.is_flat:
        return 0.0
    degrees = pixels - 1 if convention in ("mit", "richhf") else pixels
    spread = math.sqrt(maps.p.squares / degrees)
    return above / hits / (spread + _RICHHF_EPSILON if convention == "richhf" else spread)


def compute_cc(maps: MapPair, convention: str) -> float:
    if maps.q.is_flat or (maps.p.is_flat and convention in ("mit", "unisal")):
        return math.nan
    if maps.p.is_flat:
        return 0.0
    divisor = math.sqrt(maps.p.squares) * math.sqrt(maps.q.squares)
    if convention == "richhf":
        divisor += _RICHHF_EPSILON
    return min(1.0, max(-1.0, maps.sum_codeviations() / divisor))


def compute_kld(maps: MapPair, convention: str) -> float:
    xp, (p_sum, moved) = maps.p.xp, _get_density(maps, convention)
    if maps.q.total == 0 or (p_sum == 0 and convention == "unisal"):
        return math.nan
    if convention == "pysaliency":
        p_sum, q_sum = (
            total + _PYSALIENCY_FLOOR * maps.p.pixels for total in (p_sum, maps.q.total)
        )

        def get_floored(p, q):
            # After the move: in one sum with it the floor would be lost, the lowest pixel be 0.
            q, p = q + _PYSALIENCY_FLOOR, (moved(p) if moved else p) + _PYSALIENCY_FLOOR
            return q, xp.log(q / p)

        return maps.sum_products(get_floored) / q_sum + math.log(p_sum / q_sum)
    small = _EPSILON[convention]
    added = small if convention == "richhf" else 0.0
    p_sum, q_scale = p_sum + added, 1 / (maps.q.total + added)
    p_scale = 1 / p_sum if p_sum else 0.0  # "mit" leaves an empty map as it is

    def get_densities(p, q):
        q, p = q * q_scale, moved(p) if moved else p
        return q, xp.log(small + q / (p * p_scale + small))

    return maps.sum_products(get_densities)


def _get_density(maps, convention):
    """Return the prediction's mass, and a function to apply before dividing by it, or None."""
    if convention not in OF_PYSALIENCY:
        if maps.p.lowest < 0:
            came = f"`predictions` contains {maps.p.lowest:g}, and a density must not be negative"
            raise MetricInputError(f"{came}; apply exp, or use convention='tuebingen'")
        return maps.p.total, None
    # pysaliency shifts a map with negative values, and replaces an all-zero map by a uniform one.
    lift = -min(maps.p.lowest, 0.0)
    # Summed anew: the rounding of sum and lift apart would leave a constant map some mass.
    p_sum = maps.sum_over(lambda p, q: p + lift) if lift else maps.p.total
    if not math.isfinite(p_sum):
        raise MetricInputError(SCALE_ERROR)
    if p_sum == 0:
        return float(maps.p.pixels), maps.p.xp.ones_like
    return p_sum, (lambda p: p + lift) if lift else None


def compute_sim(maps: MapPair, convention: str) -> float:
    xp = maps.p.xp
    if convention == "mit":
        # Of maps that were stretched to [0, 1] first.
        p, q = maps.p, maps.q
        if q.lowest == q.highest or (p.lowest == p.highest != 0):
            return math.nan
        if p.highest == p.lowest:  # an empty map stays one, and shares nothing
            return 0.0
        p_sum, q_sum = (side.total - side.lowest * p.pixels for side in (p, q))
        scale = q_sum / p_sum
        return maps.sum_over(lambda v, w: xp.minimum((v - p.lowest) * scale, w - q.lowest)) / q_sum
    q_sum, (p_sum, moved) = maps.q.total, _get_density(maps, convention)
    if q_sum == 0 or (p_sum == 0 and convention == "unisal"):
        return math.nan
    added = _RICHHF_EPSILON if convention == "richhf" else 0.0
    scale = (q_sum + added) / (p_sum + added)
    shared = maps.sum_over(lambda p, q: xp.minimum((moved(p) if moved else p) * scale, q))
    return shared / (q_sum + added)


def compute_mse(maps: MapPair, convention: str) -> float:
    return maps.sum_over(lambda p, q: (p - q) ** 2) / maps.p.pixels


def compute_auc(xp: ModuleType, prediction: Array, truth: Array, convention: str) -> float:
    """Return AUC-Judd of one map (height, width); NaN without fixated or other pixels."""
    prediction = xp.reshape(_maps.as_map(xp, prediction), (-1,))
    _inputs.require_finite("predictions", prediction)
    truth, _ = _maps.as_true_map(xp, "references", truth, counts=True)
    truth = xp.reshape(truth, (-1,))
    fixated = truth > 0
    at_fixations = prediction[fixated]
    hits, others = at_fixations.shape[0], prediction.shape[0] - at_fixations.shape[0]
    if hits == 0 or others == 0:
        return math.nan
    times = None  # all count alike
    if convention in OF_PYSALIENCY and not xp.isdtype(truth.dtype, "bool"):
        times = truth[fixated]
        times = times if float(xp.min(times)) < float(xp.max(times)) else None
    order = xp.argsort(at_fixations, stable=False)
    at_fixations = xp.take(at_fixations, order)
    times = None if times is None else xp.take(times, order)
    # At or above each threshold: all pixels, counted in the sorted map.
    above = prediction.shape[0] - xp.searchsorted(
        xp.sort(prediction, stable=False), at_fixations, side="left"
    )
    if convention in ("mit", "richhf"):  # their loops pass the fixated pixels one by one
        place = xp.astype(xp.arange(1, hits + 1), xp.float64)
        if hasattr(above, "device"):
            place = xp.asarray(place, device=above.device)
        # The "richhf" loop subtracts one fixated pixel too few.
        counted = place - 1 if convention == "richhf" else place
        false_rate = (xp.flip(xp.astype(above, xp.float64)) - counted) / others
        area = _get_area(xp, place / hits, false_rate)
        if 0 <= area <= 1:
            return area
    return _get_tied_area(xp, at_fixations, times, above, others, convention == "unisal")


def _get_tied_area(xp, at_fixations, times, above, others, rounded):
    """Return the area under the ROC curve in which equal predictions pass a threshold together."""
    hits, lower = at_fixations.shape[0], xp.searchsorted(at_fixations, at_fixations, side="left")
    distinct_hits = hits - lower
    # From the highest threshold down; equal thresholds are equal points and add no area.
    true_rate = xp.flip(xp.astype(distinct_hits, xp.float64)) / hits
    if times is not None:
        reached = xp.concat([xp.zeros_like(times[:1]), xp.cumulative_sum(times)])
        true_rate = xp.flip(1 - xp.take(reached, lower) / reached[-1])
    false_rate = xp.flip(xp.astype(above - distinct_hits, xp.float64)) / others
    if rounded:
        # To four decimals.
        true_rate, false_rate = (xp.round(rate * 1e4) / 1e4 for rate in (true_rate, false_rate))
    return _get_area(xp, true_rate, false_rate)


def _get_area(xp, true_rate, false_rate):
    """Return the area under the points between (0, 0) and (1, 1), joined by straight lines."""
    zero, end = xp.zeros_like(true_rate[:1]), xp.ones_like(true_rate[:1])
    y = xp.concat([zero, true_rate, end])
    x = xp.concat([zero, false_rate, end])
    return float(xp.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]))) / 2
