"""Kendall's tau-b and its test, from how many others each pair agrees with."""

from __future__ import annotations

import itertools
import math

import numpy as np

from pqpp_metrics.functional._types import Floats

# Up to so many pairs without ties every order of them is counted; beyond, the normal law holds.
_COUNTED = 33


def tau_and_p_value(agreements: Floats, x_ranks: Floats, y_ranks: Floats) -> tuple[float, float]:
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
    x_ties, y_ties = (np.unique(ranks, return_counts=True)[1] for ranks in (x_ranks, y_ranks))
    x_differ, y_differ = (n * n - int((ties * ties).sum()) for ties in (x_ties, y_ties))
    # Without a square root where there is a choice: a perfect order is 1 exactly.
    scale = x_differ if x_differ == y_differ else math.sqrt(x_differ) * math.sqrt(y_differ)
    tau = min(1.0, max(-1.0, 2 * surplus / scale))
    if len(x_ties) == len(y_ties) == n:
        rarer = round((n * (n - 1) / 2 - abs(surplus)) / 2)
        if n <= _COUNTED or rarer <= 1:
            return tau, _exact_p_value(n, rarer)
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


def _exact_p_value(n, rarer):
    """Twice the share of the orders of n with at most so many pairs out of order, at most 1."""
    if rarer <= 1:
        # One order has none, n - 1 have one.
        logarithm = math.log(2 * (n if rarer else 1)) - math.lgamma(n + 1)
        return min(1.0, math.exp(logarithm))
    orders = [1] + [0] * rarer
    for size in range(2, n + 1):
        sums = [0, *itertools.accumulate(orders)]
        orders = [sums[k + 1] - sums[max(0, k + 1 - size)] for k in range(rarer + 1)]
    return min(1.0, 2 * sum(orders) / math.factorial(n))
