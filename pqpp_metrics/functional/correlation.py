"""How well predicted performance agrees with the true one, over queries or prompts.

PQPP, section 3.3. Predictions and references are any finite numbers, shape (n,), at least two. Each
result is a dict: the value under the function's name, the two-sided p-value against no association,
a confidence interval and the number of pairs. `interval` is "influence" (default), on the scale of
Fisher's z with each pair's influence on it, which assumes no distribution, or "classic", Fisher's z
with a variance that holds for bivariate normal pairs only. How often each covers the true value is
in benchmarks/calibration.md.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from pqpp_metrics.functional import _influence, _inputs, _pairs
from pqpp_metrics.functional._containers import Floats, Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE
from pqpp_metrics.functional._sums import correlation_of


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
    pairs, sums = _pairs.summed(_pairs.moments_of, predictions, references)
    r, n = correlation_of(sums), sums[""]
    tested = {"pearson_qpp": r, "p_value": student_t_p_value(r, n)}
    return tested | _interval(
        r, n, confidence, interval, lambda: _influence.of_pearson(*pairs)[1], variance=1.0, lost=3
    )


def _interval(value, n, confidence, interval, influences, variance, lost):
    """The interval of a correlation on the scale of Fisher's z, NaN for too few pairs, and n.

    By the influences of the pairs on z, which is called for them, or, if it is classic, by the
    variance of z, which is `variance` / (n - `lost`). A value of 1 or -1 has an infinite z, and the
    interval is that single point.
    """
    from scipy.special import ndtri

    confidence = _influence.checked_confidence(confidence, interval)
    low = high = math.nan
    if interval == "influence" and not math.isnan(value):
        low, high = _influence.correlation_interval(value, influences(), confidence)
    elif abs(value) >= 1 and n > lost:
        low = high = value
    elif n > lost and not math.isnan(value):
        reach = float(ndtri((1 + confidence) / 2)) * math.sqrt(variance / (n - lost))
        low, high = (math.tanh(math.atanh(value) + by) for by in (-reach, reach))
    return {"ci_low": low, "ci_high": high, "n": n}


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
    x, y = _pairs.ordered_pairs(predictions, references, tie_tolerance)
    r = _pairs.pearson_correlation(x.ranks, y.ranks)
    tested = {"spearman_qpp": r, "p_value": student_t_p_value(r, len(x.ranks))}
    return tested | _interval(
        r,
        len(x.ranks),
        confidence,
        interval,
        lambda: _influence.of_spearman(x, y)[1],
        variance=1.06,
        lost=3,
    )


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
    x, y = _pairs.ordered_pairs(predictions, references, tie_tolerance)
    tau = p = math.nan
    if not _pairs.is_constant(x.ranks) and not _pairs.is_constant(y.ranks):
        agree = _influence.order_agreements(x, y)
        tau, p = _tau_and_p_value(agree, x.ranks, y.ranks)
    return {"kendall_qpp": tau, "p_value": p} | _interval(
        tau,
        len(x.ranks),
        confidence,
        interval,
        lambda: _influence.of_kendall(agree, x, y)[1],
        variance=0.437,
        lost=4,
    )


# Up to so many pairs without ties every order of them is counted; beyond, the normal law holds.
_COUNTED = 33


def _tau_and_p_value(agreements: Floats, x_ranks: Floats, y_ranks: Floats) -> tuple[float, float]:
    """tau-b and its two-sided p-value against no association.

    Exact for up to 33 pairs without ties, or where all but one of the pairs of pairs agree or
    disagree; else by the normal law with the variance under ties (Kendall, "Rank Correlation
    Methods", 4th edition, 1970, chapters 4 and 5).

    Args:
        agreements: For each pair the number of pairs that are ordered as it is less that of those
            that are not, (n,).
        x_ranks: Average ranks, (n,), not all the same.
        y_ranks: The same.
    """
    n = len(agreements)
    surplus = float(agreements.sum()) / 2
    counts = (np.bincount((2 * ranks).astype(np.int64)) for ranks in (x_ranks, y_ranks))
    x_ties, y_ties = (number[number > 1] for number in counts)
    x_differ, y_differ = (n * (n - 1) - int((t * (t - 1)).sum()) for t in (x_ties, y_ties))
    # Without a square root where there is a choice: a perfect order is 1 exactly.
    scale = x_differ if x_differ == y_differ else math.sqrt(x_differ) * math.sqrt(y_differ)
    tau = min(1.0, max(-1.0, 2 * surplus / scale))
    if not len(x_ties) and not len(y_ties):
        rarer = round((n * (n - 1) / 2 - abs(surplus)) / 2)
        if n <= _COUNTED or rarer <= 1:
            # Twice the share of the orders of n with at most so many pairs out of order.
            if rarer <= 1:  # one order has none, n - 1 have one
                logarithm = math.log(2 * (n if rarer else 1)) - math.lgamma(n + 1)
                return tau, min(1.0, math.exp(logarithm))
            orders = [1] + [0] * rarer
            for size in range(2, n + 1):
                sums = [0, *itertools.accumulate(orders)]
                orders = [sums[k + 1] - sums[max(0, k + 1 - size)] for k in range(rarer + 1)]
            return tau, min(1.0, 2 * sum(orders) / math.factorial(n))
    return tau, math.erfc(abs(surplus) / math.sqrt(2 * _variance(n, x_ties, y_ties)))


def _variance(n, x_ties, y_ties):
    """The variance of agreements less disagreements, under no association and these ties."""
    m = n * (n - 1.0)
    x, y = x_ties.astype(np.float64), y_ties.astype(np.float64)
    twos = [(t * (t - 1)).sum() for t in (x, y)]
    threes = [(t * (t - 1) * (t - 2)).sum() for t in (x, y)]
    fives = [(t * (t - 1) * (2 * t + 5)).sum() for t in (x, y)]
    variance = (m * (2 * n + 5) - sum(fives)) / 18 + twos[0] * twos[1] / (2 * m)
    return variance + (threes[0] * threes[1] / (9 * m * (n - 2)) if n > 2 else 0.0)
