"""Whether one performance predictor is better than another on the same queries.

Both tests take the predictions of two predictors and the true performance of the same queries,
shape (n,), and resample the queries with a seeded generator: the same seed gives the same result,
in whatever order the queries come.
"""

from __future__ import annotations

import math

import numpy as np

from pqpp_metrics.functional import _inputs, _resampled
from pqpp_metrics.functional._containers import Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE, merge_ties, paired_values
from pqpp_metrics.functional._swapped import OF_SWAPS, prepared
from pqpp_metrics.functional.qpp_report import OF_RANKS, QPP_MEASURES

# Of fewer queries the bootstrap tells equally good predictors apart too often, as
# benchmarks/calibration.md counts.
LEAST_OF_BOOTSTRAP = 30

# Queries of the resamples that are measured together, which bounds the memory to a few hundred
# megabytes. Kendall takes more: small products of matrices make threads wait for each other.
_AT_ONCE = 2_000_000
_AT_ONCE_OF_KENDALL = 20_000_000


def paired_bootstrap(
    predictions: Values,
    other_predictions: Values,
    references: Values,
    statistic: str = "kendall",
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, float]:
    """Bootstrap of the difference of two predictors: queries drawn with replacement.

    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 15. Both
    predictors are measured on the same resamples. It takes the resamples' spread for that of the
    difference, which holds for many queries: at least 30 are needed. For the p-value alone
    `paired_permutation` is the better test.

    Args:
        statistic: "kendall" (default), "pearson", "spearman", "smare" or "rmse".
        resamples: How many to draw.
        confidence: Level of the percentile interval, between 0 and 1.
        seed: An integer of at least 0.
        tie_tolerance: As for `kendall_qpp`, over all queries; not used by "pearson" and "rmse".

    Returns:
        dict: "paired_bootstrap", the difference of the statistic (first minus second);
        "ci_low", "ci_high"; "p_value", two-sided: twice the share of resamples on the lesser
        side of 0, counting one more of both (never 0); "value", "other_value", "n",
        "resamples" (those that count: where a side of a resample is constant there is no
        correlation). NaN where a correlation of the whole is undefined.

    Raises:
        MetricInputError: as `paired_permutation`, or fewer than 30 queries.

    Example:
        >>> truth = list(range(30))
        >>> close, far = [i + i % 2 for i in truth], [i + 9 * (i % 3) for i in truth]
        >>> result = paired_bootstrap(close, far, truth)
        >>> round(result["paired_bootstrap"], 3), result["ci_low"] > 0
        (0.384, True)
    """
    x, other, y = _three(predictions, other_predictions, references, statistic, tie_tolerance)[:3]
    resamples, seed = _inputs.require_draws(seed, resamples=resamples)
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    if len(y) < LEAST_OF_BOOTSTRAP:
        wanted = f"a bootstrap needs at least {LEAST_OF_BOOTSTRAP}: use paired_permutation"
        raise _inputs.wrong_shape("references", y, wanted)
    values = {"value": _value(statistic, x, y), "other_value": _value(statistic, other, y)}
    difference, measure = (
        values["value"] - values["other_value"],
        _resampled.OF_RESAMPLES[statistic],
    )
    draws = _resampled.draws_of_queries(len(y), resamples, seed, _at_once(statistic))
    drawn = [measure(weights, x, y) - measure(weights, other, y) for weights in draws]
    differences = np.concatenate(drawn)
    differences = differences[~np.isnan(differences)]
    low = high = p = math.nan
    if differences.size and not math.isnan(difference):
        low, high = _resampled.percentile_interval(differences, confidence)
        p = _resampled.bootstrap_p_value(differences)
    tested = {"paired_bootstrap": difference, "ci_low": low, "ci_high": high, "p_value": p}
    return tested | values | {"n": len(y), "resamples": len(differences)}


def paired_permutation(
    predictions: Values,
    other_predictions: Values,
    references: Values,
    statistic: str = "kendall",
    permutations: int = 10_000,
    seed: int = 0,
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, float]:
    """Permutation test of two predictors: whose prediction it was is shuffled query by query.

    Were the predictors equally good, swapping their predictions of a query would change
    nothing (Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter
    3). So that a swap does not mix scales, each predictor's median is subtracted and the result
    divided by its mean size before; "rmse" compares predictions as they are. This is the test to
    compare predictors by: it assumes no distribution, and benchmarks/calibration.md has how often
    it and the others tell equally good predictors apart.

    Args:
        statistic: "kendall" (default), "pearson", "spearman", "smare" or "rmse".
        permutations: How many swaps to draw.
        seed: An integer of at least 0.
        tie_tolerance: As for `kendall_qpp`, over all queries; not used by "pearson" and "rmse".

    Returns:
        dict: "paired_permutation", the difference of the statistic (first minus second);
        "p_value", two-sided: the share of swaps with a larger difference and half of those with
        the same, the data itself counting as one (never 0; 1 where there is no difference);
        "value", "other_value", "n", "permutations". NaN where a correlation of the whole is
        undefined.

    Example:
        >>> truth = [1, 2, 3, 4, 5, 6, 7, 8]
        >>> result = paired_permutation([1, 2, 3, 4, 6, 5, 7, 8], [3, 1, 2, 6, 5, 8, 4, 7], truth)
        >>> round(result["paired_permutation"], 3), result["p_value"] < 0.2
        (0.429, True)
    """
    x, other, y, tolerance = _three(
        predictions, other_predictions, references, statistic, tie_tolerance
    )
    permutations, seed = _inputs.require_draws(seed, permutations=permutations)
    values = {"value": _value(statistic, x, y), "other_value": _value(statistic, other, y)}
    difference, p = values["value"] - values["other_value"], math.nan
    if difference == 0:
        p = 1.0  # which no swap can undercut
    elif not math.isnan(difference):
        sides = prepared(statistic, x, other, tolerance)
        all_swaps = _swaps(len(y), permutations, seed, _at_once(statistic))
        swapped = [OF_SWAPS[statistic](swaps, *sides, y) for swaps in all_swaps]
        beyond = np.abs(np.concatenate(swapped)) - abs(difference)
        # A swap that gives the same difference must count as such, whatever its last digit.
        same = np.abs(beyond) <= 1e-12 * max(map(abs, values.values()))
        reached = float((beyond[~same] > 0).sum()) + (float(same.sum()) + 1) / 2
        p = reached / (permutations + 1)
    tested = {"paired_permutation": difference, "p_value": p}
    return tested | values | {"n": len(y), "permutations": permutations}


def _swaps(n, permutations, seed, at_once):
    """Which queries keep their predictions (1) and which swap them (0), some at a time."""
    generator = np.random.default_rng(seed)
    step = max(1, at_once // n)
    for start in range(0, permutations, step):
        yield generator.integers(0, 2, (min(step, permutations - start), n)).astype(np.float32)


def _at_once(statistic):
    return _AT_ONCE_OF_KENDALL if statistic == "kendall" else _AT_ONCE


def _three(predictions, other_predictions, references, statistic, tie_tolerance):
    """Check both predictors' predictions, the references and how they are compared.

    The generator draws places. Only with an order of their own do queries that come shuffled, or
    from several processes, get the same draws.

    Returns:
        The three, ties merged and in order, and the tolerance that holds for the statistic.
    """
    _inputs.require_choice("statistic", statistic, tuple(QPP_MEASURES))
    tolerance = _inputs.require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    tolerance *= statistic in OF_RANKS
    values = paired_values(predictions, references, other_predictions=other_predictions)
    x, y, other = (merge_ties(side, tolerance) for side in values)
    order = np.lexsort((other, x, y))
    return x[order], other[order], y[order], tolerance


def _value(statistic, x, y):
    function = QPP_MEASURES[statistic]
    exact = {"tie_tolerance": 0.0} if statistic in OF_RANKS else {}  # ties are merged already
    return function(x, y, interval="classic", **exact)[function.__name__]
