"""Whether one performance predictor is better than another on the same queries.

The test accepts the predictions of two predictors and the true performance of the same queries,
shape (n,). The same seed gives the same result, in any order of the queries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Values
from pqpp_metrics.functional._influence import LEAST_PAIRS
from pqpp_metrics.functional._pairs import TIE_TOLERANCE, as_pairs, merge_ties
from pqpp_metrics.functional._studentised import make_warning
from pqpp_metrics.functional._swapped import (
    PredictorComparison,
    draw_swaps,
    explain_missing_p,
    get_rank_p_value,
    to_common_scale,
)
from pqpp_metrics.functional.qpp_report import OF_RANKS, QPP_MEASURES

# Queries of the resamples that are measured together, which bounds the memory to a few hundred
# megabytes. Kendall takes more: small products of matrices make threads wait for each other.
_AT_ONCE = 2_000_000
_AT_ONCE_OF_KENDALL = 20_000_000


def paired_permutation(
    predictions: Values,
    other_predictions: Values,
    references: Values,
    statistic: str = "kendall",
    permutations: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, Any]:
    """Test two predictors by random permutations: swaps of their predictions for single queries.

    If the predictors are exchangeable, swapping their predictions for a query does not change the
    distribution (Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter
    3). The test statistic is the difference divided by its standard error, which is estimated from
    the queries' influences. With many queries, the test is thus also valid if equally good
    predictors make different errors (Janssen, "Studentized Permutation Tests for Non-i.i.d.
    Hypotheses and the Generalized Behrens-Fisher Problem", Statistics & Probability Letters 36,
    1997; DiCiccio and Romano, "Robust Permutation Tests for Correlation and Regression
    Coefficients", Journal of the American Statistical Association 112, 2017). Correlations are
    compared by Fisher's z, and the RMSE by its logarithm.

    To bring both predictors to the same scale, each one's median is subtracted, and the result is
    divided by its mean absolute value; "rmse" compares unscaled predictions.

    Large errors have a disproportionate effect on Pearson's r, Spearman's rho and the RMSE: a
    predictor whose errors have long tails looks better in samples without the largest errors. With
    these measures there is thus no p-value and no interval for fewer than 100 queries, or if the
    predictor that looks better has longer error tails than the other (by .05 in L-kurtosis plus
    absolute L-skewness, of the errors that the two do not share); "why" gives the reason. Kendall
    and sMARE always have a p-value. The rates at which equally good predictors are found to differ,
    and at which there is no p-value, are in benchmarks/calibration.md.

    Args:
        statistic: "kendall" (default), "pearson", "spearman", "smare" or "rmse".
        permutations: Number of random permutations.
        confidence: Level of the interval, between 0 and 1.
        seed: An integer of at least 0.
        tie_tolerance: As in `kendall_qpp`, over all queries; not used by "pearson" and "rmse".

    Returns:
        dict: "paired_permutation", the difference of the statistic (first minus second); "ci_low",
        "ci_high", its interval, which excludes 0 if p is below 1 - confidence; "p_value",
        two-sided: the share of permutations that are more extreme, plus half of the share that are
        equally extreme, the data included (never 0; 1 if there is no difference, and for fewer than
        4 queries, for which there is no interval); "value", "other_value", "n", "permutations";
        "largest_share", the largest share of one query in the variance of the difference; "why",
        the reason why there is no p-value, else ""; "warning", the same reason, or that one query
        has more than a quarter of the variance, else "". NaN if a correlation is undefined.

    Example:
        >>> truth = [1, 2, 3, 4, 5, 6, 7, 8]
        >>> result = paired_permutation([1, 2, 3, 4, 6, 5, 7, 8], [3, 1, 2, 6, 5, 8, 4, 7], truth)
        >>> round(result["paired_permutation"], 3), result["p_value"] < 0.2
        (0.429, True)
    """
    _inputs.require_choice("statistic", statistic, tuple(QPP_MEASURES))
    tolerance = _inputs.require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    tolerance *= statistic in OF_RANKS
    inputs = as_pairs(predictions, references, other_predictions=other_predictions)
    merged: list[Any] = [merge_ties(side, tolerance) for side in inputs]
    x, y, other = merged
    # The generator draws positions. Sorting gives queries the same draws if they are shuffled or
    # come from several processes.
    order = np.lexsort((other, x, y))
    x, other, y = x[order], other[order], y[order]
    permutations, seed = _inputs.require_draws(seed, permutations=permutations)
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    measure = QPP_MEASURES[statistic]
    options = {"tie_tolerance": 0.0} if statistic in OF_RANKS else {}  # ties are merged already
    value, other_value = (measure(s, y, interval="none", **options).statistic for s in (x, other))
    difference = value - other_value
    low = high = p = share = math.nan
    why = ""
    if len(y) < LEAST_PAIRS:
        p = difference if math.isnan(difference) else 1.0
    elif not math.isnan(difference):
        sides = to_common_scale(statistic, x, other, tolerance)
        observed = PredictorComparison.from_swaps(statistic, np.ones((1, len(y)), bool), *sides, y)
        share = float(observed.spread.largest_share[0])
        why = explain_missing_p(
            statistic, *sides, y, observed.influences[0, 0] - observed.influences[1, 0]
        )
        if not why:
            at_once = _AT_ONCE_OF_KENDALL if statistic == "kendall" else _AT_ONCE
            parts = [
                PredictorComparison.from_swaps(statistic, swaps, *sides, y).get_p_values()
                for swaps in draw_swaps(len(y), permutations, seed, at_once)
            ]
            tails = np.concatenate(parts)  # of the data, then of each swap
            p = 1.0 if difference == 0 else get_rank_p_value(tails)
            low, high = observed.interval(float(np.quantile(tails, 1 - confidence, method="lower")))
    result = {"paired_permutation": difference, "ci_low": low, "ci_high": high, "p_value": p}
    counts = {"n": len(y), "permutations": permutations, "largest_share": share}
    values = {"value": value, "other_value": other_value}
    return result | values | counts | {"warning": why or make_warning(share), "why": why}
