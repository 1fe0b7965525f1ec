"""How well predicted performance agrees with the true one, over queries or prompts.

PQPP, section 3.3. Predictions and references are any finite numbers, shape (n,), at least two. Each
result is a dict: the value under the function's name, the two-sided p-value against no association,
a confidence interval and the number of pairs. `interval` is "influence" (default), on the scale of
Fisher's z with each pair's influence on it, which assumes no distribution, or "classic", Fisher's z
with a variance that holds for bivariate normal pairs only. How often each covers the true value is
in benchmarks/calibration.md.
"""

from __future__ import annotations

import math
import numbers

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._influence import (
    correlation_interval,
    of_kendall,
    of_pearson,
    of_spearman,
    order_agreements,
)
from pqpp_metrics.functional._inputs import (
    brief,
    require_between,
    require_choice,
    require_int,
    require_tolerance,
)
from pqpp_metrics.functional._kendall import tau_and_p_value
from pqpp_metrics.functional._pairs import is_constant, paired_values, pearson_correlation
from pqpp_metrics.functional._statistics import (
    INTERVALS,
    TIE_TOLERANCE,
    average_ranks,
    fisher_interval,
    merge_ties,
)
from pqpp_metrics.functional._types import Values


def student_t_p_value(r: float, n: int) -> float:
    """Two-sided p-value of a correlation by Student's t-test with n - 2 degrees of freedom.

    The test of PQPP, section 3.3. For Pearson's r of bivariate normal data it is exact, and the
    same as that of `scipy.stats.pearsonr`.

    Args:
        r: The correlation.
        n: The number of pairs, at least 2.

    Returns:
        The p-value as float, in [0, 1]; NaN for a NaN correlation. Two pairs always lie on a
        line, which is no evidence: 1.0.

    Example:
        >>> round(student_t_p_value(0.5, 20), 4)
        0.0248
    """
    from scipy.special import betainc

    n = require_int("n", n)
    if not 2 <= n < 2**53:
        raise MetricInputError(f"`n` is {brief(n)}; a correlation is of 2 to 2**53 pairs")
    if isinstance(r, numbers.Real) and math.isnan(min(r, 2)):
        return math.nan
    if not isinstance(r, numbers.Real) or not -1 <= r <= 1:
        raise MetricInputError(f"`r` is {brief(r)}; a correlation lies in [-1, 1]")
    if n == 2:
        return 1.0
    # Under no correlation (r + 1) / 2 is Beta(n/2 - 1, n/2 - 1); both tails count.
    half = n / 2 - 1
    return float(2 * betainc(half, half, (1 - abs(r)) / 2))


def pearson_qpp(
    predictions: Values, references: Values, confidence: float = 0.95, interval: str = "influence"
) -> dict[str, float]:
    """Pearson correlation between predicted and true performance.

    PQPP, section 3.3. The p-value is that of Student's t-test. The classic interval is Fisher's z
    with standard error 1 / sqrt(n - 3).

    Args:
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default; a pair's influence is what leaving it out changes) or
            "classic".

    Returns:
        dict with "pearson_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no correlation: the value, p and interval are NaN. With fewer than 4 pairs the
        interval is NaN. It is [-1, 1] where all pairs but one are constant on a side.

    Example:
        >>> result = pearson_qpp([1, 2, 3, 4], [1, 3, 2, 4])
        >>> round(result["pearson_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.8, 0.2, 4)
    """
    confidence = require_between("confidence", confidence, 0, 1)
    require_choice("interval", interval, INTERVALS)
    x, y = paired_values(predictions, references)
    r = pearson_correlation(x, y)
    n = len(x)
    if interval == "classic" or not abs(r) < 1:
        low, high = fisher_interval(r, n, variance=1.0, lost=3, confidence=confidence)
    else:
        low, high = correlation_interval(r, of_pearson(x, y), confidence)
    return {
        "pearson_qpp": r,
        "p_value": student_t_p_value(r, n),
        "ci_low": low,
        "ci_high": high,
        "n": n,
    }


def spearman_qpp(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> dict[str, float]:
    """Spearman rank correlation between predicted and true performance.

    Pearson's r of the ranks, ties sharing the mean of theirs. The p-value is Student's
    t-test, as that of `scipy.stats.spearmanr`; the classic interval Fisher's z with variance
    1.06 / (n - 3) (Fieller, Hartley and Pearson, Biometrika 44, 1957).

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values whose difference is at most this share of the range are
            ties, because float noise is no order; 0: only equal values are.
        interval: "influence" (default) or "classic".

    Returns:
        dict with "spearman_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no order: the value, p and interval are NaN. With fewer than 4 pairs the
        interval is NaN.

    Example:
        >>> result = spearman_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result["spearman_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.9, 0.037, 5)
    """
    confidence = require_between("confidence", confidence, 0, 1)
    x, y = paired_values(predictions, references)
    tie_tolerance = require_tolerance("tie_tolerance", tie_tolerance)
    require_choice("interval", interval, INTERVALS)
    x, y = average_ranks(x, tie_tolerance), average_ranks(y, tie_tolerance)
    r = pearson_correlation(x, y)
    n = len(x)
    if interval == "classic" or math.isnan(r):
        low, high = fisher_interval(r, n, variance=1.06, lost=3, confidence=confidence)
    else:
        low, high = correlation_interval(r, of_spearman(x, y), confidence)
    p = student_t_p_value(r, n)
    return {"spearman_qpp": r, "p_value": p, "ci_low": low, "ci_high": high, "n": n}


def kendall_qpp(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> dict[str, float]:
    """Kendall rank correlation tau-b between predicted and true performance.

    PQPP, section 3.3. Pairs tied on one side count for neither order (tau-b). The p-value is
    that of `scipy.stats.kendalltau`: exact for small inputs without ties, else normal. The
    classic interval is Fisher's z with variance 0.437 / (n - 4) (Fieller, Hartley and Pearson,
    "Tests for rank correlation coefficients. I", Biometrika 44, 1957).

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values whose difference is at most this share of the range are
            ties, because float noise is no order; 0: only equal values are.
        interval: "influence" (default) or "classic".

    Returns:
        dict with "kendall_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no order: the value, p and interval are NaN. With fewer than 4 pairs (classic: 5)
        the interval is NaN.

    Example:
        >>> result = kendall_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result["kendall_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.8, 0.083, 5)
    """
    confidence = require_between("confidence", confidence, 0, 1)
    x, y = paired_values(predictions, references)
    tie_tolerance = require_tolerance("tie_tolerance", tie_tolerance)
    x, y, n = merge_ties(x, tie_tolerance), merge_ties(y, tie_tolerance), len(x)
    require_choice("interval", interval, INTERVALS)
    x, y = average_ranks(x), average_ranks(y)
    tau = p = math.nan
    if not is_constant(x) and not is_constant(y):
        agree = order_agreements(x, y)
        tau, p = tau_and_p_value(agree, x, y)
    if interval == "classic" or math.isnan(tau):
        low, high = fisher_interval(tau, n, variance=0.437, lost=4, confidence=confidence)
    else:
        low, high = correlation_interval(tau, of_kendall(agree, x, y), confidence)
    return {"kendall_qpp": tau, "p_value": p, "ci_low": low, "ci_high": high, "n": n}
