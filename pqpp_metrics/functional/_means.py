"""Means over queries: their bootstrap intervals, and tests of paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pqpp_metrics.functional._types import Floats

# Entries of a table of draws, few enough to stay below a few hundred megabytes.
_AT_ONCE = 4_000_000


def bootstrap_intervals(table: Floats, confidence: float, resamples: int, seed: int) -> Floats:
    """BCa intervals of the means of columns, drawing rows with replacement.

    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 14. All columns are
    measured on the same draws. The order of the rows does not matter.

    Args:
        table: float64 (queries, columns).
        confidence: Between 0 and 1.
        resamples: How many draws.
        seed: Of the generator.

    Returns:
        float64 array (columns, 2); NaN with fewer than 2 rows.
    """
    from scipy.special import ndtr, ndtri

    n, columns = table.shape
    if n < 2:
        return np.full((columns, 2), math.nan)
    table = np.sort(table, axis=0)
    means = np.concatenate([draws @ table / n for draws in draws_of_queries(n, resamples, seed)])
    found = np.empty((columns, 2))
    ends = ndtri(np.array([1 - confidence, 1 + confidence]) / 2)
    for column, values in enumerate(table.T):
        mean = values.mean()
        deviations = values - mean
        spread = np.abs(deviations).max()
        if spread <= 1e-14 * abs(mean) or spread == 0:
            found[column] = mean
            continue
        deviations /= spread
        acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
        below = (means[:, column] < mean - 1e-12 * spread).mean()
        above = (means[:, column] > mean + 1e-12 * spread).mean()
        # All draws on one side of the mean tell no more than that there were so many draws.
        bias = ndtri(np.clip((below + 1 - above) / 2, 0.5 / resamples, 1 - 0.5 / resamples))
        shifted = bias + ends
        shares = ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-9))
        found[column] = np.quantile(means[:, column], shares)
    return found


def draws_of_queries(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each of n queries is drawn in each resample, some resamples at a time."""
    generator = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def sign_flip_p_values(differences: Floats, permutations: int, seed: int) -> Floats:
    """Two-sided p-values that paired differences have mean 0: whose value it was is shuffled.

    Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter 3. The data
    itself counts as one, so that p is never 0. All columns share the draws; the order of the rows
    does not matter.

    Args:
        differences: float64 (queries, columns).
        permutations: How many swaps to draw.
        seed: Of the generator.
    """
    differences = np.sort(differences, axis=0)
    sums = np.abs(differences.sum(axis=0))
    # A swap that gives the same difference must count, whatever its last digit.
    least = sums * (1 - 1e-12) - 1e-15 * np.abs(differences).sum(axis=0)
    generator = np.random.default_rng(seed)
    reached = np.ones(differences.shape[1])
    step = max(1, _AT_ONCE // len(differences))
    for start in range(0, permutations, step):
        rows = min(step, permutations - start)
        signs = 2.0 * generator.integers(0, 2, (rows, len(differences)), dtype=np.int8) - 1.0
        reached += (np.abs(signs @ differences) >= least).sum(axis=0)
    return reached / (permutations + 1)
