"""Correlations of predicted with true performance, over queries or prompts.

PQPP, section 3.3. Predictions and references are any finite numbers, shape (n,), at least two. Each
result has `.statistic`, `.pvalue` (two-sided, for the hypothesis of no association),
`.interval(confidence)` and `.n`, and is also a mapping with these values. The interval is computed
when it is read. `interval` is "influence" (default) for an interval from each pair's influence on
Fisher's z, without assumptions about the distribution, or "none". The coverage of intervals is
measured in benchmarks/calibration.md.
"""

from __future__ import annotations

import math

from pqpp_metrics.functional import _influence, _pairs
from pqpp_metrics.functional._containers import Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE
from pqpp_metrics.functional._result import Result


def pearson_qpp(
    predictions: Values, references: Values, confidence: float = 0.95, interval: str = "influence"
) -> Result:
    """Return the Pearson correlation between predicted and true performance.

    PQPP, section 3.3. The p-value is that of Student's t-test.

    Args:
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default: the effect of leaving a pair out) or "none".

    Returns:
        `Result` with "pearson_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no correlation: the value, p and interval are NaN. With fewer than 4 pairs the
        interval is NaN. The interval is [-1, 1] if an input is constant except for one pair.

    Example:
        >>> result = pearson_qpp([1, 2, 3, 4], [1, 3, 2, 4])
        >>> round(result["pearson_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.8, 0.2, 4)
    """
    x, y = _pairs.as_pairs(predictions, references)
    r, n = _pairs.compute_pearson_r(x, y), len(x)
    ends = _make_interval(r, lambda: _influence.compute_pearson(x, y)[1])
    return Result("pearson_qpp", r, _pairs.get_t_test_p_value(r, n), n, confidence, interval, ends)


def _make_interval(value, influences):
    return lambda confidence: _influence.get_correlation_interval(value, influences(), confidence)


def spearman_qpp(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> Result:
    """Return the Spearman rank correlation between predicted and true performance.

    It is Pearson's r of the ranks; tied values have their mean rank. The p-value is that of
    Student's t-test, as in `scipy.stats.spearmanr`.

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values that differ by at most this share of the range are ties,
            which removes float noise; 0: only equal values are.
        interval: "influence" (default) or "none".

    Returns:
        `Result` with "spearman_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no order: the value, p and interval are NaN. With fewer than 4 pairs the
        interval is NaN.

    Example:
        >>> result = spearman_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result["spearman_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.9, 0.037, 5)
    """
    sides = _pairs.as_merged_pairs(predictions, references, tie_tolerance)
    x, y = (_pairs.PairOrder(side) for side in sides)
    r, n = _pairs.compute_pearson_r(x.ranks, y.ranks), len(x.ranks)
    ends = _make_interval(r, lambda: _influence.compute_spearman(x, y)[1])
    return Result("spearman_qpp", r, _pairs.get_t_test_p_value(r, n), n, confidence, interval, ends)


def kendall_qpp(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> Result:
    """Return the Kendall rank correlation tau-b between predicted and true performance.

    PQPP, section 3.3. Two queries that are tied in one input are neither concordant nor discordant.
    The p-value is that of `scipy.stats.kendalltau`: exact for small inputs without ties, else
    normal.

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values that differ by at most this share of the range are ties,
            which removes float noise; 0: only equal values are.
        interval: "influence" (default) or "none".

    Returns:
        `Result` with "kendall_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no order: the value, p and interval are NaN. With fewer than 4 pairs
        the interval is NaN.

    Example:
        >>> result = kendall_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result["kendall_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.8, 0.083, 5)
    """
    from scipy.stats import kendalltau

    sides = _pairs.as_merged_pairs(predictions, references, tie_tolerance)
    tau = p = math.nan
    if not any(map(_pairs.is_constant, sides)):
        tau, p = map(float, kendalltau(*sides))
    n = len(sides[0])

    def get_influences():
        orders = [_pairs.PairOrder(side) for side in sides]
        return _influence.compute_kendall(_influence.sum_agreements(*orders), *orders)[1]

    ends = _make_interval(tau, get_influences)
    return Result("kendall_qpp", tau, p, n, confidence, interval, ends)
