"""How well predicted performance agrees with the true one, over queries or prompts.

PQPP, section 3.3. Predictions and references are any finite numbers, shape (n,), at least two. Each
result has `.statistic`, `.pvalue` (two-sided, against no association), `.interval(confidence)` and
`.n`, and is a mapping of the same. The interval is computed when it is read. `interval` is
"influence" (default), on the scale of Fisher's z with each pair's influence on it, which assumes no
distribution; "classic", Fisher's z with a variance that holds for bivariate normal pairs only; or
"none". How often each covers the true value is in benchmarks/calibration.md.
"""

from __future__ import annotations

import math

from pqpp_metrics.functional import _influence, _inputs, _pairs
from pqpp_metrics.functional._containers import Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE
from pqpp_metrics.functional._result import Result


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

    n = _inputs.require_int("n", n)
    if not 2 <= n < 2**53:
        raise _inputs.not_allowed("n", n, "a correlation is of 2 to 2**53 pairs")
    if math.isnan(r):
        return math.nan
    if not -1 <= r <= 1:
        raise _inputs.not_allowed("r", r, "a correlation lies in [-1, 1]")
    if n == 2:
        return 1.0
    # Under no correlation (r + 1) / 2 is Beta(n/2 - 1, n/2 - 1); both tails count.
    half = n / 2 - 1
    return float(2 * betainc(half, half, (1 - abs(r)) / 2))


def pearson_qpp(
    predictions: Values, references: Values, confidence: float = 0.95, interval: str = "influence"
) -> Result:
    """Pearson correlation between predicted and true performance.

    PQPP, section 3.3. The p-value is that of Student's t-test. The classic interval is Fisher's z
    with standard error 1 / sqrt(n - 3).

    Args:
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default; a pair's influence is what leaving it out changes),
            "classic" or "none".

    Returns:
        `Result` with "pearson_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no correlation: the value, p and interval are NaN. With fewer than 4 pairs the
        interval is NaN. It is [-1, 1] where all pairs but one are constant on a side.

    Example:
        >>> result = pearson_qpp([1, 2, 3, 4], [1, 3, 2, 4])
        >>> round(result["pearson_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.8, 0.2, 4)
    """
    x, y = _pairs.paired_values(predictions, references)
    r, n = _pairs.pearson_correlation(x, y), len(x)
    ends = _ends(r, n, interval, lambda: _influence.of_pearson(x, y)[1], variance=1.0, lost=3)
    return Result.checked("pearson_qpp", r, student_t_p_value(r, n), n, confidence, interval, ends)


def _ends(value, n, interval, influences, variance, lost):
    """The function of a level that gives a correlation's interval; NaN for too few pairs.

    By the influences of the pairs on Fisher's z, which is called for them, or, if it is classic, by
    the variance of z, which is `variance` / (n - `lost`). A value of 1 or -1 has an infinite z, and
    the interval is that single point.
    """

    def ends(confidence):
        if math.isnan(value):
            return math.nan, math.nan
        if interval == "influence":
            return _influence.correlation_interval(value, influences(), confidence)
        if n <= lost:
            return math.nan, math.nan
        if abs(value) >= 1:
            return value, value
        from scipy.special import ndtri

        reach = float(ndtri((1 + confidence) / 2)) * math.sqrt(variance / (n - lost))
        return tuple(math.tanh(math.atanh(value) + by) for by in (-reach, reach))

    return ends


def spearman_qpp(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> Result:
    """Spearman rank correlation between predicted and true performance.

    Pearson's r of the ranks, ties sharing the mean of theirs. The p-value is Student's
    t-test, as that of `scipy.stats.spearmanr`; the classic interval Fisher's z with variance
    1.06 / (n - 3) (Fieller, Hartley and Pearson, Biometrika 44, 1957).

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values whose difference is at most this share of the range are
            ties, because float noise is no order; 0: only equal values are.
        interval: "influence" (default), "classic" or "none".

    Returns:
        `Result` with "spearman_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no order: the value, p and interval are NaN. With fewer than 4 pairs the
        interval is NaN.

    Example:
        >>> result = spearman_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result["spearman_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.9, 0.037, 5)
    """
    sides = _pairs.merged_pairs(predictions, references, tie_tolerance)
    x, y = (_pairs.PairOrder(side) for side in sides)
    r, n = _pairs.pearson_correlation(x.ranks, y.ranks), len(x.ranks)
    ends = _ends(r, n, interval, lambda: _influence.of_spearman(x, y)[1], variance=1.06, lost=3)
    return Result.checked("spearman_qpp", r, student_t_p_value(r, n), n, confidence, interval, ends)


def kendall_qpp(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> Result:
    """Kendall rank correlation tau-b between predicted and true performance.

    PQPP, section 3.3. Pairs tied on one side count for neither order (tau-b). The p-value is
    that of `scipy.stats.kendalltau`: exact for small inputs without ties, else normal. The
    classic interval is Fisher's z with variance 0.437 / (n - 4) (Fieller, Hartley and Pearson,
    "Tests for rank correlation coefficients. I", Biometrika 44, 1957).

    Args:
        confidence: Level of the interval, between 0 and 1.
        tie_tolerance: Neighbouring values whose difference is at most this share of the range are
            ties, because float noise is no order; 0: only equal values are.
        interval: "influence" (default), "classic" or "none".

    Returns:
        `Result` with "kendall_qpp" in [-1, 1], "p_value", "ci_low", "ci_high", "n". A constant
        input has no order: the value, p and interval are NaN. With fewer than 4 pairs (classic: 5)
        the interval is NaN.

    Example:
        >>> result = kendall_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result["kendall_qpp"], 3), round(result["p_value"], 3), result["n"]
        (0.8, 0.083, 5)
    """
    from scipy.stats import kendalltau

    sides = _pairs.merged_pairs(predictions, references, tie_tolerance)
    tau = p = math.nan
    if not any(map(_pairs.is_constant, sides)):
        tau, p = map(float, kendalltau(*sides))
    n = len(sides[0])

    def influences():
        orders = [_pairs.PairOrder(side) for side in sides]
        return _influence.of_kendall(_influence.order_agreements(*orders), *orders)[1]

    ends = _ends(tau, n, interval, influences, variance=0.437, lost=4)
    return Result.checked("kendall_qpp", tau, p, n, confidence, interval, ends)
