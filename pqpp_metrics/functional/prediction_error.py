"""How far predicted performance is from the true one: by rank (sMARE) and by value (RMSE).

Inputs, results and `interval` are as in `correlation`; "classic" is Student's t interval of a mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pqpp_metrics.functional._influence import LEAST_PAIRS, of_smare, reach
from pqpp_metrics.functional._inputs import require_between, require_choice, require_tolerance
from pqpp_metrics.functional._pairs import is_constant, paired_values, pearson_correlation
from pqpp_metrics.functional._statistics import (
    INTERVALS,
    TIE_TOLERANCE,
    average_ranks,
    mean_interval,
    normal_two_sided,
)
from pqpp_metrics.functional._types import Values
from pqpp_metrics.functional.correlation import student_t_p_value

# Intervals of the RMSE are symmetric on the scale of its power -3/2. With a few large errors those
# of the RMSE or its logarithm end too low too often; benchmarks/calibration.md has the figures.
_POWER = -1.5


def smare(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> dict[str, Any]:
    """Scaled mean absolute rank error: the mean absolute difference of both ranks, over n.

    Faggioli, Zendel, Culpepper, Ferro and Scholer, "An Enhanced Evaluation Framework for Query
    Performance Prediction", ECIR 2021. Ties share the mean of their ranks.

    The p-value is two-sided against predictions that are paired with the references at random:
    the error's exact mean and variance over all pairings (Hoeffding, Annals of Mathematical
    Statistics 22, 1951), and the normal distribution. The classic interval takes the queries'
    scaled errors for independent, though each query moves the ranks of all others.

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values whose difference is at most this share of the range are
            ties, because float noise is no order; 0: only equal values are.
        interval: "influence" (default) or "classic".

    Returns:
        dict with "smare" in [0, 1/2], 0 for a perfect order, about 1/3 by chance; "p_value",
        "ci_low", "ci_high", "n", and "scores", the scaled error of each query. A constant input
        has no order: all but n is NaN. Ties short of that make errors smaller, not larger. With
        fewer than 4 pairs the interval is NaN.

    Example:
        >>> result = smare([1, 2, 3, 4], [1, 2, 4, 3])
        >>> result["smare"], round(result["p_value"], 3)
        (0.125, 0.15)
    """
    confidence = require_between("confidence", confidence, 0, 1)
    require_choice("interval", interval, INTERVALS)
    tie_tolerance = require_tolerance("tie_tolerance", tie_tolerance)
    x, y = (average_ranks(v, tie_tolerance) for v in paired_values(predictions, references))
    n = len(x)
    scores = np.abs(x - y) / n
    if is_constant(x) or is_constant(y):
        scores[:] = math.nan
    value = float(scores.mean())
    if interval == "classic":
        low, high = mean_interval(scores, confidence)
    else:
        half = reach(of_smare(x, y), confidence) if n >= LEAST_PAIRS else math.nan
        low, high = value - half, value + half
    mean, variance = _over_all_pairings(x, y)
    z = (value * n * n - mean) / math.sqrt(variance) if variance > 0 else math.nan
    return {
        "smare": value,
        "p_value": normal_two_sided(z),
        "ci_low": max(low, 0.0),
        "ci_high": min(high, 0.5),
        "n": n,
        "scores": scores,
    }


def _over_all_pairings(x, y):
    """Mean and variance, over all pairings, of the summed absolute difference of two rankings."""
    n = len(x)
    (x, x_count), (y, y_count) = (np.unique(v, return_counts=True) for v in (x, y))
    of_x = _mean_distances(x, y, y_count / n)
    of_y = _mean_distances(y, x, x_count / n)
    mean = float((of_x * x_count).sum())
    # Hoeffding: the squared distances, without what a row's or a column's mean explains.
    squares = n * float((x_count * x * x).sum() + (y_count * y * y).sum())
    squares -= 2 * float((x_count * x).sum() * (y_count * y).sum())
    explained = n * float((x_count * of_x * of_x).sum() + (y_count * of_y * of_y).sum())
    rest = squares - explained + mean * mean
    # What rounding leaves of equal distances is no variance.
    return mean, rest / (n - 1) if rest > 1e-12 * squares else 0.0


def _mean_distances(at, values, weights):
    """Mean absolute distance of each point to weighted values, both in rising order."""
    below = np.searchsorted(values, at)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    moment = np.concatenate([[0.0], np.cumsum(weights * values)])
    left = at * mass[below] - moment[below]
    right = (moment[-1] - moment[below]) - at * (mass[-1] - mass[below])
    return left + right


def rmse_qpp(
    predictions: Values, references: Values, confidence: float = 0.95, interval: str = "influence"
) -> dict[str, float]:
    """Root mean squared error of predicted against true performance, in their unit.

    The p-value is two-sided against predictions that are paired with the references at random;
    only their covariance depends on the pairing, so it is that of Pearson's correlation. The
    classic interval is the square root of Student's t interval of the mean squared error, which
    ends too low where a few errors are far larger than the others.

    Args:
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default; a pair's influence is what leaving it out changes) or
            "classic".

    Returns:
        dict with "rmse_qpp", at least 0, "p_value" (NaN for a constant input), "ci_low",
        "ci_high", "n". "ci_high" is infinite where so few errors make up the RMSE that the
        pairs set it no bound. With fewer than 4 pairs the interval is NaN.

    Example:
        >>> result = rmse_qpp([1.0, 2.0, 3.0], [1.0, 2.0, 5.0])
        >>> round(result["rmse_qpp"], 4), result["n"]
        (1.1547, 3)
    """
    confidence = require_between("confidence", confidence, 0, 1)
    require_choice("interval", interval, INTERVALS)
    x, y = paired_values(predictions, references)
    # Scaled by the largest error, so that no square overflows.
    errors = np.abs(x - y)
    largest = float(errors.max()) or 1.0
    squares = (errors / largest) ** 2
    mean = float(squares.mean())
    if interval == "classic":
        low, high = mean_interval(squares, confidence)
        low, high = math.sqrt(max(low, 0.0)), math.sqrt(high)
    else:
        low, high = _rmse_interval(squares, mean, confidence)
    return {
        "rmse_qpp": largest * math.sqrt(mean),
        "p_value": student_t_p_value(pearson_correlation(x, y), len(x)),
        "ci_low": largest * low,
        "ci_high": largest * high,
        "n": len(x),
    }


def _rmse_interval(squares, mean, confidence):
    """Interval of a root mean square, by leaving each pair out."""
    n = len(squares)
    if n < LEAST_PAIRS:
        return math.nan, math.nan
    if mean == 0:
        return 0.0, 0.0
    with np.errstate(divide="ignore"):
        left = np.maximum(n * mean - squares, 0.0) / (n - 1)
        half = reach((1 - n) * left ** (_POWER / 2), confidence)
    value = mean ** (_POWER / 2)
    low, high = value + half, value - half
    return low ** (1 / _POWER), high ** (1 / _POWER) if high > 0 else math.inf
