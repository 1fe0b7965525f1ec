"""The saliency metrics of one map in each convention; see `saliency` for what they are."""

import math

from pqpp_metrics.errors import MetricInputError

_RICHHF_EPSILON = 1e-8
_EPSILON = {"matlab": 2.0**-52, "unisal": 2.2204e-16, "richhf": _RICHHF_EPSILON}
_PYSALIENCY_FLOOR = 1e-20


def nss_of(maps, convention):
    """NSS of a `MapPair` whose truth counts fixations."""
    xp, mean = maps.xp, maps.p_sum / maps.pixels
    repeated = convention == "pysaliency"
    hits = above = 0.0
    for p, q in maps.bands:
        fixated = q if xp.isdtype(q.dtype, "bool") else q > 0
        deviation = p[fixated] - mean
        if repeated and fixated is not q:
            counts = q[fixated]
            hits, above = hits + float(xp.sum(counts)), above + float(xp.sum(deviation * counts))
        else:
            hits, above = hits + deviation.shape[0], above + float(xp.sum(deviation))
    if hits == 0 or (maps.p_flat and convention in ("matlab", "unisal")):
        return math.nan
    if maps.p_flat:
        return 0.0
    degrees = maps.pixels if convention in ("pysaliency", "unisal") else maps.pixels - 1
    spread = math.sqrt(maps.p_squares / degrees)
    return above / hits / (spread + _RICHHF_EPSILON if convention == "richhf" else spread)


def cc_of(maps, convention):
    """CC of a `MapPair`."""
    if maps.q_flat or (maps.p_flat and convention in ("matlab", "unisal")):
        return math.nan
    if maps.p_flat:
        return 0.0
    divisor = math.sqrt(maps.p_squares) * math.sqrt(maps.q_squares)
    if convention == "richhf":
        divisor += _RICHHF_EPSILON
    return min(1.0, max(-1.0, maps.product() / divisor))


def kld_of(maps, convention):
    """KLD of a `MapPair`."""
    xp, q_sum = maps.xp, maps.q_sum
    if convention == "pysaliency":
        return _kld_with_floor(maps) if q_sum > 0 else math.nan
    _refuse_negative(maps)
    if q_sum == 0 or (maps.p_sum == 0 and convention != "richhf"):
        return math.nan
    small = _EPSILON[convention]
    added = small if convention == "richhf" else 0.0
    p_scale, q_scale = 1 / (maps.p_sum + added), 1 / (q_sum + added)

    def densities(p, q):
        q = q * q_scale
        return q, xp.log(small + q / (p * p_scale + small))

    return maps.dot(densities)


def _kld_with_floor(maps):
    """KLD with 1e-20 added to every pixel, negative predictions moved up before."""
    xp, low = maps.xp, min(maps.p_low, 0.0)

    def raised(p):
        # In two steps: the floor is lost in a sum with the lowest value, whose pixel would be 0.
        return (p - low if low else p) + _PYSALIENCY_FLOOR

    def part(p, q):
        q = q + _PYSALIENCY_FLOOR
        return q, xp.log(q / raised(p))

    p_sum = maps.sum(lambda p, q: p - low) if low else maps.p_sum
    p_sum += _PYSALIENCY_FLOOR * maps.pixels
    q_sum = maps.q_sum + _PYSALIENCY_FLOOR * maps.pixels
    return maps.dot(part) / q_sum + math.log(p_sum / q_sum)


def sim_of(maps, convention):
    """SIM of a `MapPair`."""
    if convention == "matlab":
        return _similarity_of_stretched(maps)
    xp, p_sum, q_sum, lift, everywhere = maps.xp, maps.p_sum, maps.q_sum, 0.0, 0.0
    if convention == "pysaliency":
        lift = -min(maps.p_low, 0.0)
        # Summed anew: the rounding of sum and lift apart would leave a constant map some mass.
        p_sum = maps.sum(lambda p, q: p + lift) if lift else p_sum
        if p_sum == 0:  # a map without mass says nothing about where: equal everywhere
            everywhere, p_sum = 1.0, float(maps.pixels)
    else:
        _refuse_negative(maps)
    if q_sum == 0 or (p_sum == 0 and convention == "unisal"):
        return math.nan
    added = _RICHHF_EPSILON if convention == "richhf" else 0.0
    scale = (q_sum + added) / (p_sum + added)
    if lift or everywhere:
        shared = maps.sum(lambda p, q: xp.minimum((p + lift + everywhere) * scale, q))
    else:
        shared = maps.sum(lambda p, q: xp.minimum(p * scale, q))
    return shared / (q_sum + added)


def _similarity_of_stretched(maps):
    """SIM of maps that were stretched to [0, 1] first."""
    xp, p_low = maps.xp, maps.p_low
    q_low = min(float(xp.min(q)) for _, q in maps.bands)
    p_sum, q_sum = maps.p_sum - p_low * maps.pixels, maps.q_sum - q_low * maps.pixels
    flat_truth = all(float(xp.max(q)) == q_low for _, q in maps.bands)
    if flat_truth or all(float(xp.max(p)) == p_low for p, _ in maps.bands):
        return math.nan
    scale = q_sum / p_sum
    return maps.sum(lambda p, q: xp.minimum((p - p_low) * scale, q - q_low)) / q_sum


def mse_of(maps, convention):
    """Mean squared error of a `MapPair`; the same in every convention."""
    return maps.sum(lambda p, q: (p - q) ** 2) / maps.pixels


def _refuse_negative(maps):
    if maps.p_low < 0:
        raise MetricInputError(
            f"`predictions` holds {maps.p_low:g}; a density is never negative: shift or "
            "exponentiate the map, or use convention='pysaliency'"
        )
