"""A test of two groups of queries, and a correction for multiple tests.

Tests that resample the queries are in `resampling`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pqpp_metrics.functional import _inputs, _pairs
from pqpp_metrics.functional._containers import Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE
from pqpp_metrics.functional._result import Result


def mann_whitney(
    x: Values, y: Values, alternative: str = "less", tie_tolerance: float = TIE_TOLERANCE
) -> Result:
    """Compare two groups of queries by the Mann-Whitney U test and the relative improvement.

    ConQA (Rodriguez et al., ECIR 2024), section 5.2 and Table 6: whether the values of the queries
    in X are lower than those in Y, and by how much, (mean y - mean x) / mean x.

    Args:
        x: Values of the queries of one group, shape (n_x,), any finite numbers.
        y: Values of the other group, shape (n_y,); the lengths may differ.
        alternative: "less" (default, as in the paper: x lower than y), "greater" or "two-sided".
        tie_tolerance: As in `kendall_qpp`, over the values of both groups.

    Returns:
        `Result` with "mann_whitney", U of x (the number of pairs in which x is higher, plus half of
        the ties), without interval; "p_value" as that of `scipy.stats.mannwhitneyu` (exact for
        small groups without ties, else normal with corrections for ties and continuity), 1 if all
        values are equal; "n", the number of all queries; "relative_improvement", infinite if only
        the mean of x is 0, NaN if both means are 0; "n_x", "n_y".

    Example:
        >>> result = mann_whitney([0.1, 0.2, 0.3], [0.4, 0.5, 0.9])
        >>> result.statistic, result.pvalue, round(result["relative_improvement"], 3)
        (0.0, 0.05, 2.0)
    """
    from scipy.stats import mannwhitneyu

    _inputs.require_choice("alternative", alternative, ("less", "greater", "two-sided"))
    x, y = _inputs.as_floats("x", x, ndim=1), _inputs.as_floats("y", y, ndim=1)
    tie_tolerance = _inputs.require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    pooled = _pairs.merge_ties(np.concatenate([x, y]), tie_tolerance)
    if pooled.min() == pooled.max():
        statistic, p = len(x) * len(y) / 2, 1.0
    else:
        result = mannwhitneyu(pooled[: len(x)], pooled[len(x) :], alternative=alternative)
        statistic, p = float(result.statistic), float(result.pvalue)
    x_mean, y_mean = float(x.mean()), float(y.mean())
    if x_mean:
        improvement = (y_mean - x_mean) / x_mean
    else:
        improvement = math.copysign(math.inf, y_mean) if y_mean else math.nan
    more = {"relative_improvement": improvement, "n_x": len(x), "n_y": len(y)}
    return Result("mann_whitney", statistic, p, len(pooled), 0.95, "none", more=more)


def holm(p_values: Values, alpha: float = 0.05) -> dict[str, Any]:
    """Correct p-values for the number of tests, by Holm's method.

    Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
    Statistics 6, 1979. The probability of any false rejection is at most alpha, however the tests
    depend on each other.

    Args:
        p_values: p-values in any shape; NaN, for an undefined test, stays NaN and is not counted.
        alpha: Significance level, between 0 and 1.

    Returns:
        dict: "holm", the smallest adjusted p-value (that of "no effect exists"; NaN if all are
        NaN); "adjusted", same shape as the input; "rejected", bool, same shape; "n", the number of
        tests.

    Example:
        >>> result = holm([0.01, 0.04, 0.03])
        >>> result["adjusted"].round(4).tolist(), result["rejected"].tolist()
        ([0.03, 0.06, 0.06], [True, False, False])
    """
    alpha = _inputs.require_between("alpha", alpha, 0, 1)
    table = _inputs.as_array("p_values", p_values)
    table = _inputs.as_floats("p_values", table, ndim=table.ndim, finite=False)
    is_tested = ~np.isnan(table)
    values = table[is_tested]
    is_valid = (values >= 0) & (values <= 1)
    _inputs.require_each("p_values", values, is_valid, "must be from 0 to 1")
    order = np.argsort(values, kind="stable")
    steps = len(values) - np.arange(len(values))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * steps), 1.0)
    table = np.full(table.shape, math.nan)
    table[is_tested] = adjusted
    smallest = float(adjusted.min()) if len(values) else math.nan
    return {"holm": smallest, "adjusted": table, "rejected": table <= alpha, "n": len(values)}
