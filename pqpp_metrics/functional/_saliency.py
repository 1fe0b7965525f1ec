"""The saliency metrics of one map in each convention; see `saliency` for what they are."""

from __future__ import annotations

import math

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._maps import OF_PYSALIENCY, SCALE_ERROR, MapPair

_RICHHF_EPSILON = 1e-8
_EPSILON = {
    "tuebingen": 2.2204e-16,
    "mit": 2.0**-52,
    "unisal": 2.2204e-16,
    "richhf": _RICHHF_EPSILON,
}
_PYSALIENCY_FLOOR = 1e-20


def nss_of(maps: MapPair, convention: str) -> float:
    """NSS of a `MapPair` whose truth counts fixations."""
    xp, mean = maps.xp, maps.p_sum / maps.pixels
    repeated = convention in OF_PYSALIENCY
    hits = above = 0.0
    for p, q in maps.bands:
        fixated = q if xp.isdtype(q.dtype, "bool") else q > 0
        deviation = p[fixated] - mean
        if repeated and fixated is not q:
            counts = q[fixated]
            hits, above = hits + float(xp.sum(counts)), above + float(xp.sum(deviation * counts))
        else:
            hits, above = hits + deviation.shape[0], above + float(xp.sum(deviation))
    if hits == 0 or (maps.p_flat and convention in ("mit", "unisal")):
        return math.nan
    if maps.p_flat:
        return 0.0
    degrees = maps.pixels - 1 if convention in ("mit", "richhf") else maps.pixels
    spread = math.sqrt(maps.p_squares / degrees)
    return above / hits / (spread + _RICHHF_EPSILON if convention == "richhf" else spread)


def cc_of(maps: MapPair, convention: str) -> float:
    """CC of a `MapPair`."""
    if maps.q_flat or (maps.p_flat and convention in ("mit", "unisal")):
        return math.nan
    if maps.p_flat:
        return 0.0
    divisor = math.sqrt(maps.p_squares) * math.sqrt(maps.q_squares)
    if convention == "richhf":
        divisor += _RICHHF_EPSILON
    return min(1.0, max(-1.0, maps.product() / divisor))


def kld_of(maps: MapPair, convention: str) -> float:
    """KLD of a `MapPair`."""
    xp, (p_sum, moved) = maps.xp, _as_density(maps, convention)
    if maps.q_sum == 0 or (p_sum == 0 and convention == "unisal"):
        return math.nan
    if convention == "pysaliency":
        return _kld_with_floor(maps, p_sum, moved)
    small = _EPSILON[convention]
    added = small if convention == "richhf" else 0.0
    p_sum, q_scale = p_sum + added, 1 / (maps.q_sum + added)
    p_scale = 1 / p_sum if p_sum else 0.0  # "mit" leaves an empty map as it is

    def densities(p, q):
        q, p = q * q_scale, moved(p) if moved else p
        return q, xp.log(small + q / (p * p_scale + small))

    return maps.dot(densities)


def _as_density(maps, convention):
    """How predictions become a density: their sum, and how they are moved before, if at all.

    pysaliency moves a map with negative values up until its lowest is 0, and makes one without
    mass, which says nothing about where, equal everywhere.
    """
    if convention not in OF_PYSALIENCY:
        if maps.p_low < 0:
            raise MetricInputError(
                f"`predictions` holds {maps.p_low:g}; a density is never negative: shift or "
                "exponentiate the map, or use convention='tuebingen'"
            )
        return maps.p_sum, None
    lift = -min(maps.p_low, 0.0)
    # Summed anew: the rounding of sum and lift apart would leave a constant map some mass.
    p_sum = maps.sum(lambda p, q: p + lift) if lift else maps.p_sum
    if not math.isfinite(p_sum):
        raise MetricInputError(SCALE_ERROR)
    if p_sum == 0:
        return float(maps.pixels), maps.xp.ones_like
    return p_sum, (lambda p: p + lift) if lift else None


def _kld_with_floor(maps, p_sum, moved):
    """KLD with 1e-20 added to every pixel of both maps."""
    p_sum, q_sum = (one + _PYSALIENCY_FLOOR * maps.pixels for one in (p_sum, maps.q_sum))

    def part(p, q):
        # After the move: in one sum with it the floor would be lost, and the lowest pixel be 0.
        q, p = q + _PYSALIENCY_FLOOR, (moved(p) if moved else p) + _PYSALIENCY_FLOOR
        return q, maps.xp.log(q / p)

    return maps.dot(part) / q_sum + math.log(p_sum / q_sum)


def sim_of(maps: MapPair, convention: str) -> float:
    """SIM of a `MapPair`."""
    if convention == "mit":
        return _similarity_of_stretched(maps)
    xp, q_sum, (p_sum, moved) = maps.xp, maps.q_sum, _as_density(maps, convention)
    if q_sum == 0 or (p_sum == 0 and convention == "unisal"):
        return math.nan
    added = _RICHHF_EPSILON if convention == "richhf" else 0.0
    scale = (q_sum + added) / (p_sum + added)
    shared = maps.sum(lambda p, q: xp.minimum((moved(p) if moved else p) * scale, q))
    return shared / (q_sum + added)


def _similarity_of_stretched(maps):
    """SIM of maps that were stretched to [0, 1] first."""
    xp, p_low = maps.xp, maps.p_low
    p_high = max(float(xp.max(p)) for p, _ in maps.bands)
    q_low = min(float(xp.min(q)) for _, q in maps.bands)
    p_sum, q_sum = maps.p_sum - p_low * maps.pixels, maps.q_sum - q_low * maps.pixels
    flat_truth = all(float(xp.max(q)) == q_low for _, q in maps.bands)
    if flat_truth or (p_low == p_high != 0):
        return math.nan
    if p_high == p_low:  # an empty map stays one, and shares nothing
        return 0.0
    scale = q_sum / p_sum
    return maps.sum(lambda p, q: xp.minimum((p - p_low) * scale, q - q_low)) / q_sum


def mse_of(maps: MapPair, convention: str) -> float:
    """Mean squared error of a `MapPair`; the same in every convention."""
    return maps.sum(lambda p, q: (p - q) ** 2) / maps.pixels
