"""The saliency metrics of one map in each convention; see `saliency` for the conventions.

The thresholds of AUC-Judd's ROC curve are the predictions at the fixated pixels.
"""

import math

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _maps
from pqpp_metrics.functional._containers import Array

_RICHHF_EPSILON = 1e-8
_EPSILON = dict.fromkeys(("tuebingen", "unisal"), 2.2204e-16)
_EPSILON |= {"mit": 2.0**-52, "richhf": _RICHHF_EPSILON}
_PYSALIENCY_FLOOR = 1e-20


def compute_nss(p: _maps.SaliencyMap, q: _maps.SaliencyMap, convention: str) -> float:
    xp, is_bool = p.xp, p.xp.isdtype(q.values.dtype, "bool")
    fixated = q.values if is_bool else q.values > 0
    deviations = p.values[fixated] - p.mean
    if not deviations.shape[0] or (p.is_flat and convention in ("mit", "unisal")):
        return math.nan
    if p.is_flat:
        return 0.0
    mean = float(xp.mean(deviations))
    if convention in _maps.OF_PYSALIENCY and not is_bool:
        counts = q.values[fixated]
        mean = float(xp.sum(deviations * counts) / xp.sum(counts))
    degrees = p.pixels - 1 if convention in ("mit", "richhf") else p.pixels
    spread = math.sqrt(p.squares / degrees)
    return mean / (spread + _RICHHF_EPSILON if convention == "richhf" else spread)


def compute_cc(p: _maps.SaliencyMap, q: _maps.SaliencyMap, convention: str) -> float:
    if q.is_flat or (p.is_flat and convention in ("mit", "unisal")):
        return math.nan
    if p.is_flat:
        return 0.0
    divisor = math.sqrt(p.squares) * math.sqrt(q.squares)
    if convention == "richhf":
        divisor += _RICHHF_EPSILON
    return min(1.0, max(-1.0, _maps.sum_codeviations(p, q) / divisor))


def compute_kld(p: _maps.SaliencyMap, q: _maps.SaliencyMap, convention: str) -> float:
    xp, (mass, density) = p.xp, _get_density(p, convention)
    if q.total == 0 or (mass == 0 and convention == "unisal"):
        return math.nan
    if convention == "pysaliency":
        truth, density = q.values + _PYSALIENCY_FLOOR, density + _PYSALIENCY_FLOOR
        mass, q_mass = (total + _PYSALIENCY_FLOOR * p.pixels for total in (mass, q.total))
        divergence = _maps.sum_products(xp, truth, xp.log(truth / density))
        return divergence / q_mass + math.log(mass / q_mass)
    epsilon = _EPSILON[convention]
    added = epsilon if convention == "richhf" else 0.0
    truth = q.values / (q.total + added)
    density = density / ((mass + added) or 1.0)  # "mit" leaves an empty map as it is
    return _maps.sum_products(xp, truth, xp.log(epsilon + truth / (density + epsilon)))


def _get_density(p: _maps.SaliencyMap, convention: str) -> tuple[float, Array]:
    """Return the prediction's mass, and the values to divide by it."""
    if convention not in _maps.OF_PYSALIENCY:
        if p.lowest < 0:
            fault = f"`predictions` contains {p.lowest:g}, and a density must not be negative"
            raise MetricInputError(f"{fault}; apply exp, or use convention='tuebingen'")
        return p.total, p.values
    # pysaliency shifts a map with negative values, and replaces an all-zero map by a uniform one.
    shifted = p.values - p.lowest if p.lowest < 0 else p.values
    mass = float(p.xp.sum(shifted))
    if not math.isfinite(mass):
        raise MetricInputError(_maps.SCALE_ERROR)
    return (mass, shifted) if mass else (float(p.pixels), p.xp.ones_like(shifted))


def compute_sim(p: _maps.SaliencyMap, q: _maps.SaliencyMap, convention: str) -> float:
    xp = p.xp
    if convention == "mit":
        # Both maps are first stretched to [0, 1].
        if q.lowest == q.highest or (p.lowest == p.highest != 0):
            return math.nan
        if p.highest == p.lowest:  # an empty map shares no mass
            return 0.0
        (mass, density), (q_mass, truth) = (
            (side.total - side.lowest * p.pixels, side.values - side.lowest) for side in (p, q)
        )
        return float(xp.sum(xp.minimum(density * (q_mass / mass), truth))) / q_mass
    mass, density = _get_density(p, convention)
    if q.total == 0 or (mass == 0 and convention == "unisal"):
        return math.nan
    added = _RICHHF_EPSILON if convention == "richhf" else 0.0
    scale = (q.total + added) / (mass + added)
    return float(xp.sum(xp.minimum(density * scale, q.values))) / (q.total + added)


def compute_mse(p: _maps.SaliencyMap, q: _maps.SaliencyMap, convention: str) -> float:
    return float(p.xp.sum((p.values - q.values) ** 2)) / p.pixels


def compute_auc(p: _maps.SaliencyMap, q: _maps.SaliencyMap, convention: str) -> float:
    xp = p.xp
    prediction, truth = (xp.reshape(side.values, (-1,)) for side in (p, q))
    fixated = truth > 0
    at_fixations = prediction[fixated]
    hits, n_others = at_fixations.shape[0], prediction.shape[0] - at_fixations.shape[0]
    if hits == 0 or n_others == 0:
        return math.nan
    is_repeated = convention in _maps.OF_PYSALIENCY and not xp.isdtype(truth.dtype, "bool")
    weights = truth[fixated] if is_repeated else xp.ones_like(at_fixations)
    order = xp.argsort(at_fixations, stable=False)
    at_fixations, weights = xp.take(at_fixations, order), xp.take(weights, order)
    # Count all pixels at or above each threshold, in the sorted map.
    n_above = prediction.shape[0] - xp.searchsorted(
        xp.sort(prediction, stable=False), at_fixations, side="left"
    )
    if convention in ("mit", "richhf"):  # their loops pass the fixated pixels one by one
        ranks = xp.cumulative_sum(xp.ones_like(n_above, dtype=xp.float64))
        # The "richhf" loop subtracts one fixated pixel too few.
        n_fixated = ranks - 1 if convention == "richhf" else ranks
        false_rate = (xp.flip(xp.astype(n_above, xp.float64)) - n_fixated) / n_others
        area = _get_area(xp, ranks / hits, false_rate)
        if 0 <= area <= 1:
            return area
    return _get_tied_area(xp, at_fixations, weights, n_above, n_others, convention == "unisal")


def _get_tied_area(xp, at_fixations, weights, n_above, n_others, rounded):
    """Return the area under the ROC curve in which equal predictions pass a threshold together."""
    lower = xp.searchsorted(at_fixations, at_fixations, side="left")
    reached = xp.concat([xp.zeros_like(weights[:1]), xp.cumulative_sum(weights)])
    # From the highest threshold down; equal thresholds are equal points and add no area.
    true_rate = xp.flip((reached[-1] - xp.take(reached, lower)) / reached[-1])
    higher = n_above - (at_fixations.shape[0] - lower)
    false_rate = xp.flip(xp.astype(higher, xp.float64)) / n_others
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
