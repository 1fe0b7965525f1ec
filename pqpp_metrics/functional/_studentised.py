"""How far a statistic may be from its population's, by its queries' influences on it.

A statistic over the standard error of its influences is near Student's t, for whatever values:
nothing has to be the same in two predictors but what is compared. Two things are allowed for. Few
queries that move the statistic far more than all others tell little about their own spread, so the
degrees of freedom are those of that spread. And skewed influences make the ratio skewed, which Hall
takes out by a cubic that has an inverse. All functions work along the last axis.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._result import Result

# Of long tails a sample shows too little: by the skewness as it is, predictors with unlike errors
# are told apart up to twice as often as with so many times it, and the RMSE's interval ends low.
LONG_TAILED = 2.5
# The cubic is flat where skewness and ratio are large and of opposite sign, as if no effect were
# large enough; there it goes on as a line, whose slope is the square of this.
_SLOPE = 0.5
# More than this share of the variance by one query, and the result hangs on that query.
LARGE_SHARE = 0.25
# Of weighted means of the ordered values, by column the second, third and fourth L-moment.
_L_MOMENTS = np.array([[-1, 1, -1], [2, -6, 12], [0, 6, -30], [0, 0, 20]])


@dataclass(frozen=True)
class StandardError:
    """How a statistic with some influences spreads; each float64, one a sample (...,).

    `error` is its standard error, infinite if an influence is unknown; `freedom` the degrees of
    freedom of that error (Satterthwaite, "An Approximate Distribution of Estimates of Variance
    Components", Biometrics Bulletin 2, 1946), at most n - 1; `skewness` that of the influences;
    `largest_share` the share of the variance that one query carries.
    """

    error: Floats
    freedom: Floats
    skewness: Floats
    largest_share: Floats
    n: int


def get_error(influences: Floats) -> StandardError:
    """Return the spread of a statistic with these influences, float64 (..., n)."""
    n = influences.shape[-1]
    is_unknown = ~np.isfinite(influences)
    deviations = np.where(is_unknown.any(axis=-1, keepdims=True), 0.0, influences)
    deviations -= deviations.mean(axis=-1, keepdims=True)
    largest = np.maximum(deviations.max(axis=-1), -deviations.min(axis=-1))
    deviations /= np.where(largest > 0, largest, 1.0)[..., None]
    cubes = np.einsum("...i,...i,...i->...", *[deviations] * 3)
    squares = np.square(deviations, out=deviations)
    variance = squares.mean(axis=-1)
    some = np.where(variance > 0, variance, 1.0)
    excess = np.maximum(np.einsum("...i,...i->...", squares, squares) / n / some**2 - 1, 1e-9)
    skewness = cubes / n / some**1.5
    error = np.where(is_unknown.any(axis=-1), math.inf, largest * np.sqrt(variance / (n - 1)))
    share = squares.max(axis=-1) / (n * some)
    return StandardError(error, np.minimum(n - 1, 2 * n / excess), skewness, share, n)


def compute_p(distance: Floats, of: StandardError, weight: float) -> Floats:
    """Return the probability that a statistic differs from its value by `distance` or more.

    The transformed ratio of Hall, "On the Removal of Skewness by Transformation", Journal of the
    Royal Statistical Society B 54, 1992, by Student's t. 1 if the spread is unknown.

    Args:
        distance: The statistic minus its value under the hypothesis.
        of: The statistic's spread.
        weight: Factor of the skewness.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.clip(np.where(distance == 0, 0.0, distance / of.error), -1e90, 1e90)
    bend = _get_bend(of, weight)
    cubic = t + bend * t * t + bend * bend * t**3 / 3
    on_line = bend * t < _SLOPE - 1
    some = np.where(on_line, bend, 1.0)
    line = _SLOPE**2 * (t - (_SLOPE - 1) / some) + (_SLOPE**3 - 1) / (3 * some)
    without_skewness = np.where(on_line, line, cubic) + bend / 2
    return np.where(np.isfinite(of.error), 2 * stdtr(of.freedom, -np.abs(without_skewness)), 1.0)


def _get_bend(of, weight):
    """Return the curvature of the cubic: t + bend t^2 + bend^2 t^3 / 3 + bend / 2."""
    return weight * of.skewness / (3 * math.sqrt(of.n))


def get_ends(tail: Floats | float, of: StandardError, weight: float) -> tuple[Floats, Floats]:
    """Return how far below and above a statistic the values lie whose `compute_p` is `tail`.

    Both are at least 0; infinite if the spread is unknown.
    """
    from scipy.special import stdtrit

    quantile, bend = -stdtrit(of.freedom, np.asarray(tail) / 2), _get_bend(of, weight)
    is_bent = np.abs(bend) > 1e-9
    some = np.where(is_bent, bend, 1.0)
    reached = []
    for sign in (1, -1):
        target = sign * quantile - bend / 2
        cubic = np.where(is_bent, (np.cbrt(1 + 3 * some * target) - 1) / some, target)
        line = (target - (_SLOPE**3 - 1) / (3 * some)) / _SLOPE**2 + (_SLOPE - 1) / some
        on_line = is_bent & (3 * some * target < _SLOPE**3 - 1)
        reached.append(np.maximum(sign * np.where(on_line, line, cubic), 0.0))
    # None times infinity: no spread, whatever the tail; beyond the largest number is infinity.
    with np.errstate(invalid="ignore", over="ignore"):
        below, above = (np.where(of.error == 0, 0.0, by * of.error) for by in reached)
    return below, above


def get_warning(share: float) -> str:
    """Return why a test is unreliable, by one query's largest share in the variance, or ""."""
    return f"one query carries {share:.0%} of the variance" if share > LARGE_SHARE else ""


def get_tail_length(errors: Floats) -> Floats:
    """Return the tail length of errors (..., n): L-kurtosis plus the size of L-skewness, (...,).

    Hosking, "L-Moments: Analysis and Estimation of Distributions Using Linear Combinations of Order
    Statistics", Journal of the Royal Statistical Society B 52, 1990: of normal errors .12.
    """
    place, n = np.arange(errors.shape[-1]), errors.shape[-1]
    weights = np.cumprod(
        [place**0, place / (n - 1), (place - 1) / (n - 2), (place - 2) / (n - 3)], 0
    )
    moments = np.sort(errors, axis=-1) @ weights.T / n
    scale, third, fourth = np.moveaxis(moments @ _L_MOMENTS, -1, 0)
    return (fourth + np.abs(third)) / np.where(scale > 0, scale, 1.0)


def get_margin(influences: Floats, confidence: float) -> float:
    """Return half the width of the interval of a statistic with these influences, (n,)."""
    return float(get_ends(1 - confidence, get_error(influences), weight=0)[0])


def get_interval(
    value: float, influences: Floats, confidence: float, weight: float
) -> tuple[float, float]:
    """The interval of a statistic with these influences, (n,), as far as its skewness says."""
    below, above = get_ends(1 - confidence, get_error(influences), weight)
    return value - float(below), value + float(above)


def get_mean_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """The interval of the mean of values (n,).

    Of hits and misses, all of them 0 or 1, Wilson's; else by their skewness and spread as they are.
    (NaN, NaN) of a single value. benchmarks/calibration.md has how often both cover.
    """
    n, mean = len(values), float(values.mean())
    if n < 2:
        return math.nan, math.nan
    if np.isin(values, (0, 1)).all():
        return get_rate_interval(float(values.sum()), n, confidence)
    return get_interval(mean, values, confidence, weight=1)


def get_rate_interval(hits: float, n: int, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a rate of hits among n.

    Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the
    American Statistical Association 22, 1927.
    """
    from scipy.special import ndtri

    square = float(ndtri((1 + confidence) / 2)) ** 2
    middle = (hits + square / 2) / (n + square)
    half = math.sqrt(square * (hits * (n - hits) / n + square / 4)) / (n + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def make_rate_result(
    name: str, hits: float, n: int, confidence: float, more: dict[str, Any] | None = None
) -> Result:
    """Return a share of n (NaN if n is 0) with Wilson's interval."""

    def ends(confidence: float) -> tuple[float, float]:
        return get_rate_interval(hits, n, confidence) if n else (math.nan, math.nan)

    value = float(hits) / n if n else math.nan
    return Result(name, value, None, n, confidence, "influence", ends, more=more or {})


def bound_difference(
    values: Floats,
    influences: Floats,
    below: float,
    above: float,
    scale: Callable[[Floats], Floats],
) -> tuple[float, float]:
    """The least and largest difference of two measures within reach of theirs.

    Both lie in an ellipse by their covariance, which the line of no difference touches where they
    differ by `below` (or -`above`): so the interval leaves 0 out where the test of equal ones
    rejects.

    Args:
        values: Both, on the scale of the test, (2,).
        influences: On them, (2, n).
        below: How far their difference may be smaller.
        above: How far larger.
        scale: Turns what is tested into the measure: the hyperbolic tangent for Fisher's z, the
            exponential for logarithms.
    """
    n = influences.shape[1]
    if not (math.isfinite(below) and math.isfinite(above) and np.isfinite(influences).all()):
        low, high = (float(scale(np.array(end))) for end in (-math.inf, math.inf))
        return low - high, high - low
    covariance = np.cov(influences, bias=True) / (n - 1)
    sizes, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(sizes, 0.0))
    angles = np.linspace(0, 2 * math.pi, 3601)
    circle = root @ np.stack([np.cos(angles), np.sin(angles)])
    error = math.sqrt(max(float(np.array([1, -1]) @ covariance @ np.array([1, -1])), 0.0))
    if error == 0:
        one, other = map(float, scale(values))
        return one - other, one - other
    first, second = (scale(values[:, None] + circle * by / error) for by in (below, above))
    return float((first[0] - first[1]).min()), float((second[0] - second[1]).max())
