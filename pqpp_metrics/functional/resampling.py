"""Whether one performance predictor is better than another on the same queries.

Both tests take the predictions of two predictors and the true performance of the same queries,
shape (n,), and resample the queries with a seeded generator: the same seed gives the same result,
in whatever order the queries come.
"""

from __future__ import annotations

import math

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    require_between,
    require_choice,
    require_draws,
    require_int,
    require_tolerance,
)
from pqpp_metrics.functional._pairs import paired_with_another
from pqpp_metrics.functional._resampled import OF_RESAMPLES
from pqpp_metrics.functional._statistics import TIE_TOLERANCE, merge_ties
from pqpp_metrics.functional._swapped import OF_SWAPS, prepared
from pqpp_metrics.functional._types import Values
from pqpp_metrics.functional.qpp_report import MEASURES, OF_RANKS

# Of fewer queries the bootstrap tells equally good predictors apart too often, as
# benchmarks/calibration.md counts.
LEAST_OF_BOOTSTRAP = 30

# Queries of the resamples that are measured together, which bounds the memory to a few hundred
# megabytes. Kendall takes more: small products of matrices make threads wait for each other.
_AT_ONCE = 2_000_000
_AT_ONCE_OF_KENDALL = 20_000_000
_COUNTED_AT_ONCE = 32


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
    require_choice("statistic", statistic, tuple(MEASURES))
    tie_tolerance = require_tolerance("tie_tolerance", tie_tolerance) * (statistic in OF_RANKS)
    x, other, y = _three(predictions, other_predictions, references, tie_tolerance)
    resamples = require_draws("resamples", resamples)
    confidence = require_between("confidence", confidence, 0, 1)
    seed = require_int("seed", seed, least=0)
    if len(y) < LEAST_OF_BOOTSTRAP:
        raise MetricInputError(
            f"{len(y)} queries were given; a bootstrap needs at least {LEAST_OF_BOOTSTRAP}: "
            "use paired_permutation"
        )
    value, other_value = (_value(statistic, side, y) for side in (x, other))
    measure = OF_RESAMPLES[statistic]
    drawn = []
    for weights in _draws(len(y), resamples, seed, statistic):
        drawn.append(measure(weights, x, y) - measure(weights, other, y))
    differences = np.concatenate(drawn)
    differences = differences[~np.isnan(differences)]
    low = high = p = math.nan
    if differences.size and not math.isnan(value - other_value):
        tail = (1 - confidence) / 2
        low, high = (float(q) for q in np.quantile(differences, [tail, 1 - tail]))
        lesser = min((differences <= 0).sum(), (differences >= 0).sum())
        p = min(1.0, 2 * float(lesser + 1) / (len(differences) + 1))
    return {
        "paired_bootstrap": value - other_value,
        "ci_low": low,
        "ci_high": high,
        "p_value": p,
        "value": value,
        "other_value": other_value,
        "n": len(y),
        "resamples": len(differences),
    }


def _draws(n, resamples, seed, statistic):
    """How often each of n queries is drawn in each resample, some resamples at a time."""
    generator = np.random.default_rng(seed)
    step = _rows_at_once(n, statistic)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        counts = np.empty((rows, n), dtype=np.float32)
        # Counting a few resamples at a time keeps their counters in the cache.
        for first in range(0, rows, _COUNTED_AT_ONCE):
            part = counts[first : first + _COUNTED_AT_ONCE]
            drawn = generator.integers(0, n, part.shape) + n * np.arange(len(part))[:, None]
            part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
        yield counts


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
    require_choice("statistic", statistic, tuple(MEASURES))
    tie_tolerance = require_tolerance("tie_tolerance", tie_tolerance) * (statistic in OF_RANKS)
    x, other, y = _three(predictions, other_predictions, references, tie_tolerance)
    permutations = require_draws("permutations", permutations)
    seed = require_int("seed", seed, least=0)
    value, other_value = (_value(statistic, side, y) for side in (x, other))
    difference, p = value - other_value, math.nan
    if difference == 0:
        p = 1.0  # which no swap can undercut
    elif not math.isnan(difference):
        sides = prepared(statistic, x, other, tie_tolerance)
        swapped = [
            OF_SWAPS[statistic](swaps, *sides, y)
            for swaps in _swaps(len(y), permutations, seed, statistic)
        ]
        beyond = np.abs(np.concatenate(swapped)) - abs(difference)
        # A swap that gives the same difference must count as such, whatever its last digit.
        same = np.abs(beyond) <= 1e-12 * max(abs(value), abs(other_value))
        reached = float((beyond[~same] > 0).sum()) + (float(same.sum()) + 1) / 2
        p = reached / (permutations + 1)
    return {
        "paired_permutation": difference,
        "p_value": p,
        "value": value,
        "other_value": other_value,
        "n": len(y),
        "permutations": permutations,
    }


def _swaps(n, permutations, seed, statistic):
    """Which queries keep their predictions (1) and which swap them (0), some at a time."""
    generator = np.random.default_rng(seed)
    step = _rows_at_once(n, statistic)
    for start in range(0, permutations, step):
        rows = min(step, permutations - start)
        yield generator.integers(0, 2, (rows, n)).astype(np.float32)


def _rows_at_once(n, statistic):
    return max(1, (_AT_ONCE_OF_KENDALL if statistic == "kendall" else _AT_ONCE) // n)


def _three(predictions, other_predictions, references, tie_tolerance):
    """Check the predictions of both predictors and the references; put the queries in order.

    The generator draws places. Only with an order of their own do queries that come shuffled, or
    from several processes, get the same draws.
    """
    values = paired_with_another(predictions, other_predictions, references)
    x, other, y = (merge_ties(side, tie_tolerance) for side in values)
    order = np.lexsort((other, x, y))
    return x[order], other[order], y[order]


def _value(statistic, x, y):
    function = MEASURES[statistic]
    exact = {"tie_tolerance": 0.0} if statistic in OF_RANKS else {}  # ties are merged already
    return function(x, y, interval="classic", **exact)[function.__name__]
