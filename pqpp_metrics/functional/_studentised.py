"""Tests and intervals of a statistic, from the influences of its queries.

A statistic divided by the standard error of its influences approximately follows Student's t,
whatever the distribution of the values. Two corrections are made. If a few queries dominate the
influences, fewer degrees of freedom are used, in intervals at least `_MIN_DOF`; and Hall's cubic
transformation, which can be inverted, removes skewness. All functions work along the last axis.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._result import Result

# A sample underestimates the skewness of long tails: without this factor, predictors with different
# errors are found to differ up to twice as often, and the RMSE's interval ends too low.
LONG_TAILED = 2.5
# The cubic is flat where skewness and ratio are large and of opposite sign, so that no effect would
# be significant; a line continues it there, whose slope is the square of this.
_SLOPE = 0.5
# In an interval, fewer degrees of freedom add much width and little coverage.
_MIN_DOF = 8
# If one query has more than this share of the variance, the result depends on that query.
LARGE_SHARE = 0.25
# The second, third and fourth L-moment (columns) from weighted means of the ordered values.
_L_MOMENTS = np.array([[-1, 1, -1], [2, -6, 12], [0, 6, -30], [0, 0, 20]])


@dataclass(frozen=True)
class StandardError:
    """The standard error of a statistic, from its queries' influences; one per sample, (...,).

    `error` is the standard error, infinite if an influence is unknown; `dof` are its degrees of
    freedom (Satterthwaite, "An Approximate Distribution of Estimates of Variance Components",
    Biometrics Bulletin 2, 1946), at most n - 1; `skewness` is the influences' skewness;
    `largest_share` is the largest share of a single query in the variance; `n` is the number of
    queries.
    """

    error: Floats
    dof: Floats
    skewness: Floats
    largest_share: Floats
    n: int


def get_standard_error(influences: Floats) -> StandardError:
    """Return the standard error of a statistic, given its influences, float64 (..., n)."""
    n = influences.shape[-1]
    is_unknown = ~np.isfinite(influences)
    deviations = np.where(is_unknown.any(axis=-1, keepdims=True), 0.0, influences)
    deviations -= deviations.mean(axis=-1, keepdims=True)
    largest = np.maximum(deviations.max(axis=-1), -deviations.min(axis=-1))
    deviations /= np.where(largest > 0, largest, 1.0)[..., None]
    cubes = np.einsum("...i,...i,...i->...", *[deviations] * 3)
    squares = np.square(deviations, out=deviations)
    variance = squares.mean(axis=-1)
    divisor = np.where(variance > 0, variance, 1.0)
    excess = np.maximum(np.einsum("...i,...i->...", squares, squares) / n / divisor**2 - 1, 1e-9)
    skewness = cubes / n / divisor**1.5
    error = np.where(is_unknown.any(axis=-1), math.inf, largest * np.sqrt(variance / (n - 1)))
    share = squares.max(axis=-1) / (n * divisor)
    return StandardError(error, np.minimum(n - 1, 2 * n / excess), skewness, share, n)


def get_p_value(distance: Floats, se: StandardError, weight: float) -> Floats:
    """Return the two-sided p-value of a statistic at `distance` from its hypothetical value.

    It is the p-value of Student's t for the ratio transformed by Hall, "On the Removal of Skewness
    by Transformation", Journal of the Royal Statistical Society B 54, 1992; 1 if the standard error
    is unknown.

    Args:
        distance: The statistic minus its value under the hypothesis.
        se: The statistic's standard error.
        weight: Factor of the skewness in the transformation.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.clip(np.where(distance == 0, 0.0, distance / se.error), -1e90, 1e90)
    bend = _get_curvature(se, weight)
    cubic = t + bend * t * t + bend * bend * t**3 / 3
    on_line = bend * t < _SLOPE - 1
    divisor = np.where(on_line, bend, 1.0)
    line = _SLOPE**2 * (t - (_SLOPE - 1) / divisor) + (_SLOPE**3 - 1) / (3 * divisor)
    without_skewness = np.where(on_line, line, cubic) + bend / 2
    return np.where(np.isfinite(se.error), 2 * stdtr(se.dof, -np.abs(without_skewness)), 1.0)


def _get_curvature(se, weight):
    """Return `bend` of the cubic t + bend t^2 + bend^2 t^3 / 3 + bend / 2."""
    return weight * se.skewness / (3 * math.sqrt(se.n))


def get_distances(tail: Floats | float, se: StandardError, weight: float) -> tuple[Floats, Floats]:
    """Return the distances below and above a statistic at which `get_p_value` equals `tail`.

    Both distances are at least 0, and infinite if the standard error is unknown.
    """
    from scipy.special import stdtrit

    quantile, bend = -stdtrit(se.dof, np.asarray(tail) / 2), _get_curvature(se, weight)
    is_bent = np.abs(bend) > 1e-9
    divisor = np.where(is_bent, bend, 1.0)
    distances = []
    for sign in (1, -1):
        target = sign * quantile - bend / 2
        cubic = np.where(is_bent, (np.cbrt(1 + 3 * divisor * target) - 1) / divisor, target)
        line = (target - (_SLOPE**3 - 1) / (3 * divisor)) / _SLOPE**2 + (_SLOPE - 1) / divisor
        on_line = is_bent & (3 * divisor * target < _SLOPE**3 - 1)
        distances.append(np.maximum(sign * np.where(on_line, line, cubic), 0.0))
    # An error of 0 has no interval, whatever the tail; overflow gives infinity.
    with np.errstate(invalid="ignore", over="ignore"):
        below, above = (np.where(se.error == 0, 0.0, distance * se.error) for distance in distances)
    return below, above


def make_warning(share: float) -> str:
    """Return a warning if one query has a large share of the variance, else an empty string."""
    return f"one query carries {share:.0%} of the variance" if share > LARGE_SHARE else ""


def get_tail_length(errors: Floats) -> Floats:
    """Return the tail length of errors (..., n): L-kurtosis plus absolute L-skewness, (...,).

    Hosking, "L-Moments: Analysis and Estimation of Distributions Using Linear Combinations of Order
    Statistics", Journal of the Royal Statistical Society B 52, 1990. Normal errors have .12.
    """
    index, n = np.arange(errors.shape[-1]), errors.shape[-1]
    weights = np.cumprod(
        [index**0, index / (n - 1), (index - 1) / (n - 2), (index - 2) / (n - 3)], 0
    )
    moments = np.sort(errors, axis=-1) @ weights.T / n
    scale, third, fourth = np.moveaxis(moments @ _L_MOMENTS, -1, 0)
    return (fourth + np.abs(third)) / np.where(scale > 0, scale, 1.0)


def get_ends(influences: Floats, confidence: float, weight: float) -> tuple[Floats, Floats]:
    """Return an interval's distances below and above a statistic, given its influences (..., n)."""
    se = get_standard_error(influences)
    dof = np.maximum(se.dof, min(_MIN_DOF, se.n - 1))
    return get_distances(1 - confidence, replace(se, dof=dof), weight)


def get_margin(influences: Floats, confidence: float) -> float:
    """Return half the width of a statistic's interval, given its influences, (n,)."""
    return float(get_ends(influences, confidence, weight=0)[0])


def get_interval(
    value: float, influences: Floats, confidence: float, weight: float
) -> tuple[float, float]:
    """Return a statistic's interval, given its influences, (n,), with correction for skewness."""
    below, above = get_ends(influences, confidence, weight)
    return value - float(below), value + float(above)


def get_mean_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the interval of the mean of values (n,); (NaN, NaN) for a single value.

    It is Wilson's if all values are 0 or 1, and corrected for skewness otherwise. The coverage of
    both intervals is in benchmarks/calibration.md.
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

    def get_ends(confidence: float) -> tuple[float, float]:
        return get_rate_interval(hits, n, confidence) if n else (math.nan, math.nan)

    value = float(hits) / n if n else math.nan
    return Result(name, value, None, n, confidence, "influence", get_ends, more=more or {})


def bound_difference(
    values: Floats,
    influences: Floats,
    below: float,
    above: float,
    scale: Callable[[Floats], Floats],
) -> tuple[float, float]:
    """Return the lowest and highest difference of two measures, on the measures' own scale.

    The measures vary within an ellipse that their covariance defines, and within which their
    difference decreases by at most `below` and increases by at most `above`. The interval thus
    excludes 0 if the test rejects equality.

    Args:
        values: Both measures, on the scale of the test, (2,).
        influences: The queries' influences on both measures, (2, n).
        below: The largest decrease of the difference.
        above: The largest increase of the difference.
        scale: A function that converts values from the scale of the test to the measure's own: the
            hyperbolic tangent for Fisher's z, the exponential for logarithms.
    """
    n = influences.shape[1]
    if not (math.isfinite(below) and math.isfinite(above) and np.isfinite(influences).all()):
        low, high = (float(scale(np.array(end))) for end in (-math.inf, math.inf))
        return low - high, high - low
    covariance = np.cov(influences, bias=True) / (n - 1)
    eigenvalues, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(eigenvalues, 0.0))
    angles = np.linspace(0, 2 * math.pi, 3601)
    circle = root @ np.stack([np.cos(angles), np.sin(angles)])
    error = math.sqrt(max(float(np.array([1, -1]) @ covariance @ np.array([1, -1])), 0.0))
    if error == 0:
        value, other = map(float, scale(values))
        return value - other, value - other
    first, second = (scale(values[:, None] + circle * by / error) for by in (below, above))
    return float((first[0] - first[1]).min()), float((second[0] - second[1]).max())
