"""Whether one training method is better than another, over queries and seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _influence, _inputs, _pairs
from pqpp_metrics.functional._containers import Floats, Values
from pqpp_metrics.functional._influence import LEAST_PAIRS
from pqpp_metrics.functional._pairs import TIE_TOLERANCE, PairOrder, merge_ties
from pqpp_metrics.functional._studentised import (
    StandardError,
    get_distances,
    get_p_value,
    get_standard_error,
    make_warning,
)
from pqpp_metrics.functional._swapped import explain_missing_p
from pqpp_metrics.functional.qpp_report import OF_RANKS, QPP_MEASURES


def paired_seeds(
    predictions: Values,
    other_predictions: Values,
    references: Values,
    statistic: str = "kendall",
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, Any]:
    """Compare two predictors, each trained with several seeds, on the same queries.

    The mean of the statistic over seeds is compared. Queries and seeds are random factors, like
    cases and readers in Dorfman, Berbaum and Metz, "Receiver Operating Characteristic Rating
    Analysis: Generalization to the Population of Readers and Patients with the Jackknife Method",
    Investigative Radiology 27, 1992: the variance of the difference is the sum of the variance over
    queries, from their influences on the mean, and of the variances over each predictor's seeds
    that the queries do not explain. The test is Student's t-test with Satterthwaite's degrees of
    freedom. A test over queries alone would ignore the randomness of the seeds. With Pearson's r,
    Spearman's rho and the RMSE there is no p-value if `paired_permutation` has none for more than
    half of the pairs of seeds. The rate at which the test rejects for equally good training methods
    is in benchmarks/calibration.md.

    Args:
        predictions: Predictions of the first predictor, shape (n, seeds): one column per seed.
        other_predictions: Predictions of the second, shape (n, any number of seeds). A single
            column means a predictor without randomness; at least one of the two predictors must
            have two or more seeds.
        references: True performance, shape (n,), at least 4.
        statistic: "kendall" (default), "pearson", "spearman", "smare" or "rmse".
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: As in `kendall_qpp`; not used by "pearson" and "rmse".

    Returns:
        dict: "paired_seeds", the difference of the means (first minus second); "ci_low", "ci_high",
        its interval, which excludes 0 if p is below 1 - confidence; "p_value", two-sided; "value",
        "other_value", the means over seeds; "seed_share", the seeds' share of the variance of the
        difference; "n"; "largest_share", the largest share of one query in the variance over
        queries; "why", the reason why there is no p-value and no interval, else ""; "warning", the
        same reason, or a reason to doubt the p-value, else "". NaN if a correlation is undefined.

    Raises:
        MetricInputError: shapes that do not match, fewer than 4 queries, fewer than two seeds for
            both predictors, NaN or infinite values.

    Example:
        >>> truth = [1, 2, 3, 4, 5, 6]
        >>> good = [[1, 1], [2, 3], [3, 2], [4, 4], [6, 5], [5, 6]]
        >>> poor = [[2, 5], [1, 1], [6, 3], [3, 6], [5, 2], [4, 4]]
        >>> result = paired_seeds(good, poor, truth)
        >>> round(result["paired_seeds"], 3), result["p_value"] < 0.05
        (0.667, True)
    """
    _inputs.require_choice("statistic", statistic, tuple(QPP_MEASURES))
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    tolerance = _inputs.require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    y = _inputs.as_floats("references", references, ndim=1)
    inputs = {"predictions": predictions, "other_predictions": other_predictions}
    sides = [_inputs.as_floats(name, values, ndim=2) for name, values in inputs.items()]
    for name, side in zip(inputs, sides, strict=True):
        _inputs.check_lengths("one row for each query", **{name: side, "references": y})
    if len(y) < LEAST_PAIRS:
        raise _inputs.shape_error("references", y, f"must have at least {LEAST_PAIRS} values")
    if max(side.shape[1] for side in sides) < 2:
        raise MetricInputError("each side has one seed; add seeds, or use paired_permutation")
    (values, influences), (other_values, other) = (
        _compute_by_seed(statistic, side.T, y, tolerance) for side in sides
    )
    difference_influences = influences.mean(axis=0) - other.mean(axis=0)
    queries = get_standard_error(difference_influences)
    value, other_value = float(values.mean()), float(other_values.mean())
    seeds = [_get_seed_variance(values, influences), _get_seed_variance(other_values, other)]
    total, seed_share = _combine_spreads(queries, seeds)
    difference = value - other_value
    below, above = (float(distance) for distance in get_distances(1 - confidence, total, weight=0))
    p = float(get_p_value(np.asarray(difference), total, weight=0))
    share, why = float(queries.largest_share), ""
    if math.isnan(difference):
        p = below = above = seed_share = share = math.nan
    else:
        columns = sides[0].T[:, None], sides[1].T[None]
        if why := explain_missing_p(statistic, *columns, y, difference_influences):
            p = below = above = math.nan
    return {
        "paired_seeds": difference,
        "ci_low": difference - below,
        "ci_high": difference + above,
        "p_value": p,
        "value": value,
        "other_value": other_value,
        "seed_share": seed_share,
        "n": len(y),
        "largest_share": share,
        "warning": why or make_warning(share),
        "why": why,
    }


def _compute_by_seed(statistic, columns, y, tolerance) -> tuple[Floats, Floats]:
    """Return the statistic of each seed, and the queries' influences on it, (seeds, n)."""
    if statistic == "rmse":
        return _influence.compute_rmse(columns - y)
    correlations = [_compute_correlation(statistic, x, y, tolerance) for x in columns]
    values, influences = map(np.stack, zip(*correlations, strict=True))
    if statistic == "smare":
        return values, influences
    values = np.tanh(values)  # from Fisher's z, and so the influences
    return values, influences * (1 - values * values)[:, None]


def _compute_correlation(statistic, x, y, tolerance):
    if _pairs.is_constant(x) or _pairs.is_constant(y):
        return np.float64(math.nan), np.full(len(y), math.nan)
    if statistic not in OF_RANKS:
        return _influence.compute_pearson(x, y)
    orders = [PairOrder(merge_ties(side, tolerance)) for side in (x, y)]
    if statistic == "kendall":
        return _influence.compute_kendall(_influence.sum_agreements(*orders), *orders)
    compute = _influence.compute_smare if statistic == "smare" else _influence.compute_spearman
    return compute(*orders)


def _get_seed_variance(values, influences):
    """Return the variance of a mean over seeds that is due to the seeds alone, and their number."""
    seeds, n = influences.shape
    if seeds < 2:
        return 0.0, seeds
    deviations = influences - influences.mean(axis=0)
    # The mean of leave-one-out influences is not exactly 0.
    deviations -= deviations.mean(axis=1, keepdims=True)
    by_queries = float((deviations * deviations).sum()) / ((seeds - 1) * (n - 1) * n)
    return max(float(values.var(ddof=1)) - by_queries, 0.0) / seeds, seeds


def _combine_spreads(queries, seeds):
    """Return the standard error over queries and seeds, and the seeds' share of its variance."""
    by_queries = float(queries.error) ** 2
    variance = by_queries + sum(part for part, _ in seeds)
    if not 0 < variance < math.inf:
        return queries, 0.0
    parts = by_queries**2 / float(queries.dof)
    parts += sum(part**2 / (count - 1) for part, count in seeds if count > 1)
    error, dof = np.float64(math.sqrt(variance)), np.float64(variance**2 / parts)
    total = StandardError(error, dof, queries.skewness, queries.largest_share, queries.n)
    return total, 1 - by_queries / variance
