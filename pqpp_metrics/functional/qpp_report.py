"""The five measures of how well a performance predictor predicts.

The inputs, results and `interval` of sMARE (errors of ranks) and RMSE (errors of values) are as in
`correlation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _pairs, correlation
from pqpp_metrics.functional._containers import Floats, Values
from pqpp_metrics.functional._influence import LEAST_PAIRS, compute_rmse, compute_smare
from pqpp_metrics.functional._inputs import as_list, as_same_shape, require_choice
from pqpp_metrics.functional._pairs import TIE_TOLERANCE
from pqpp_metrics.functional._result import Result
from pqpp_metrics.functional._studentised import LONG_TAILED, get_interval, get_margin


def smare(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> Result:
    """Return the scaled mean absolute rank error: the mean absolute rank difference, divided by n.

    Faggioli, Zendel, Culpepper, Ferro and Scholer, "An Enhanced Evaluation Framework for Query
    Performance Prediction", ECIR 2021. Tied values have their mean rank.

    The p-value is two-sided, for the hypothesis of random pairings of predictions and references.
    It uses the error's exact mean and variance over all pairings (Hoeffding, Annals of Mathematical
    Statistics 22, 1951), and the normal distribution.

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values that differ by at most this share of the range are ties,
            which removes float noise; 0: only equal values are.
        interval: "influence" (default) or "none".

    Returns:
        `Result` with "smare" in [0, 1/2], 0 for a perfect order, about 1/3 by chance; "p_value",
        "ci_low", "ci_high", "n", and "scores", the scaled error of each query. A constant input has
        no order: all values but n are NaN. Ties make errors smaller. With fewer than 4 pairs the
        interval is NaN.

    Example:
        >>> result = smare([1, 2, 3, 4], [1, 2, 4, 3])
        >>> result["smare"], round(result["p_value"], 3)
        (0.125, 0.15)
    """
    sides = _pairs.as_merged_pairs(predictions, references, tie_tolerance)
    orders = [_pairs.PairOrder(side) for side in sides]
    x, y = (order.ranks for order in orders)
    n = len(x)
    scores = np.abs(x - y) / n
    if _pairs.is_constant(x) or _pairs.is_constant(y):
        scores[:] = math.nan
    value = float(scores.mean())
    mean, variance = _get_pairing_moments(x, y)
    z = (value * n * n - mean) / math.sqrt(variance) if variance > 0 else math.nan

    def get_ends(confidence):
        margin = get_margin(compute_smare(*orders)[1], confidence) if n >= LEAST_PAIRS else math.nan
        return max(value - margin, 0.0), min(value + margin, 0.5)

    p = math.erfc(abs(z) / math.sqrt(2))
    return Result("smare", value, p, n, confidence, interval, get_ends, scores)


def _get_pairing_moments(x, y):
    """Return the mean and variance, over all pairings, of the sum of absolute rank differences."""
    n = len(x)
    (x, x_count), (y, y_count) = (np.unique(v, return_counts=True) for v in (x, y))
    of_x, of_y = _get_mean_distances(x, y, y_count / n), _get_mean_distances(y, x, x_count / n)
    mean = float((of_x * x_count).sum())
    # Hoeffding: the squared distances, minus the part explained by means of rows and columns.
    squares = n * float((x_count * x * x).sum() + (y_count * y * y).sum())
    squares -= 2 * float((x_count * x).sum() * (y_count * y).sum())
    explained = n * float((x_count * of_x * of_x).sum() + (y_count * of_y * of_y).sum())
    remainder = squares - explained + mean * mean
    # If all distances are equal, a remainder is due to rounding.
    return mean, remainder / (n - 1) if remainder > 1e-12 * squares else 0.0


def _get_mean_distances(points, values, weights):
    """Return each point's weighted mean distance to some values; points and values ascend."""
    below = np.searchsorted(values, points)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    moment = np.concatenate([[0.0], np.cumsum(weights * values)])
    distances_below = points * mass[below] - moment[below]
    return distances_below + ((moment[-1] - moment[below]) - points * (mass[-1] - mass[below]))


def rmse_qpp(
    predictions: Values, references: Values, confidence: float = 0.95, interval: str = "influence"
) -> Result:
    """Return the root mean squared error of predicted against true performance, in their unit.

    The p-value is two-sided, for the hypothesis of random pairings of predictions and references.
    Only the covariance depends on the pairing, so the p-value is that of Pearson's correlation.

    Args:
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default) or "none". A pair's influence is the effect of leaving it
            out. The correction for skewness is 2.5 times that of `mean_intervals`, because samples
            underestimate long tails; the coverage is in benchmarks/calibration.md.

    Returns:
        `Result` with "rmse_qpp", at least 0, "p_value" (NaN for a constant input), "ci_low",
        "ci_high", "n". With fewer than 4 pairs the interval is NaN, and with a single pair the
        p-value is NaN too.

    Example:
        >>> result = rmse_qpp([1.0, 2.0, 3.0], [1.0, 2.0, 5.0])
        >>> round(result["rmse_qpp"], 4), result["n"]
        (1.1547, 3)
    """
    x, y = _pairs.as_pairs(predictions, references, ge=1)
    with np.errstate(over="ignore"):
        errors = x - y
    if not np.isfinite(errors).all():
        raise MetricInputError("`predictions` minus `references` overflows; rescale both inputs")
    n, (rmse, influences) = len(errors), compute_rmse(errors)
    value = float(rmse)

    def get_ends(confidence):
        if n < LEAST_PAIRS:
            return math.nan, math.nan
        low, high = get_interval(value, influences, confidence, LONG_TAILED)
        return float(np.maximum(low, 0.0)), float(high)

    p = math.nan
    if n > 1:
        p = _pairs.get_t_test_p_value(_pairs.compute_pearson_r(x, y), n)
    return Result("rmse_qpp", value, p, n, confidence, interval, get_ends)


QPP_MEASURES: dict[str, Callable[..., Result]] = {
    "pearson": correlation.pearson_qpp,
    "spearman": correlation.spearman_qpp,
    "kendall": correlation.kendall_qpp,
    "smare": smare,
    "rmse": rmse_qpp,
}
OF_RANKS = ("spearman", "kendall", "smare")


def qpp_report(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    measures: Sequence[str] = tuple(QPP_MEASURES),
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> dict[str, Result]:
    """Return Pearson, Spearman, Kendall, sMARE and RMSE with intervals and p-values.

    PQPP, section 3.3, reports Pearson and Kendall; the QPP literature also uses the other measures.

    Args:
        confidence: Level of the intervals, between 0 and 1.
        measures: Measures to compute, from "pearson", "spearman", "kendall", "smare", "rmse".
        tie_tolerance: As in `kendall_qpp`, for the rank measures.
        interval: "influence" (default), which assumes no distribution, or "none".

    Returns:
        dict of "pearson_qpp", "spearman_qpp", "kendall_qpp", "smare" and "rmse_qpp", each the
        `Result` of the function with this name, without sMARE's scores of single queries.

    Raises:
        MetricInputError: See `pearson_qpp`, or a measure is unknown.

    Example:
        >>> report = qpp_report([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> [round(result[name], 3) for name, result in report.items()]
        [0.9, 0.9, 0.8, 0.08, 0.632]
    """
    report = {}
    for name in as_list("measures", measures):
        require_choice("measures", name, tuple(QPP_MEASURES))
        measure = QPP_MEASURES[name]
        ranks = {"tie_tolerance": tie_tolerance} if name in OF_RANKS else {}
        result = measure(predictions, references, confidence, interval=interval, **ranks)
        report[measure.__name__] = replace(result, scores=None)
    return report


def qpp_values(
    predictions: Values,
    references: Values,
    measures: Sequence[str] = ("pearson", "kendall"),
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, Floats]:
    """Return the values of QPP measures for each column of predictions.

    Args:
        predictions: Predicted performance, shape (n, targets).
        references: True performance, same shape; rows with NaN are left out of that column.
        measures: Measures to compute, from "pearson", "spearman", "kendall", "smare", "rmse".
        tie_tolerance: As in `kendall_qpp`, for the rank measures.

    Returns:
        dict from measure to a float64 array (targets,), in the order of `measures`; NaN for a
        column with fewer than two true values, and if a measure is undefined.

    Raises:
        MetricInputError: shapes that differ, infinite values, NaN predictions for known references,
            or an unknown measure.

    Example:
        >>> result = qpp_values([[1, 4], [2, 3], [3, 5]], [[1, 1], [2, 2], [4, float("nan")]])
        >>> {name: values.round(3).tolist() for name, values in result.items()}
        {'pearson': [0.982, -1.0], 'kendall': [1.0, -1.0]}
    """
    measures = as_list("measures", measures)
    for name in measures:
        require_choice("measures", name, tuple(QPP_MEASURES))
    x, y = as_same_shape(2, finite=False, predictions=predictions, references=references)
    values = {name: np.full(x.shape[1], math.nan) for name in measures}
    for column in range(x.shape[1]):
        is_known = ~np.isnan(y[:, column])
        if is_known.sum() < 2:
            continue
        pair = x[is_known, column], y[is_known, column]
        report = qpp_report(*pair, measures=measures, tie_tolerance=tie_tolerance)
        for name in measures:
            values[name][column] = report[QPP_MEASURES[name].__name__].statistic
    return values
