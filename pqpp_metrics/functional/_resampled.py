"""Bootstrap samples of queries, a test by random sign flips, and signs of differences."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._containers import Floats

# Entries of a table of draws, few enough to stay below a few hundred megabytes.
_DRAWN_AT_ONCE = 4_000_000
_COUNTED_AT_ONCE = 32


def draw_queries(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Yield how often each of n queries is drawn in each resample, in batches."""
    generator = np.random.default_rng(seed)
    step = max(1, _DRAWN_AT_ONCE // n)
    for start in range(0, resamples, step):
        counts = np.empty((min(step, resamples - start), n), dtype=np.float32)
        # Counting a few resamples at a time keeps their counters in the cache.
        for first in range(0, len(counts), _COUNTED_AT_ONCE):
            part = counts[first : first + _COUNTED_AT_ONCE]
            queries = generator.integers(0, n, part.shape) + n * np.arange(len(part))[:, None]
            part[:] = np.bincount(queries.ravel(), minlength=part.size).reshape(part.shape)
        yield counts


def run_sign_flip_test(
    differences: Floats, permutations: int, confidence: float, seed: int
) -> tuple[Floats, Floats]:
    """Test whether paired differences have mean 0, by flipping their signs at random.

    Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter 3. A flip does
    not change the sum of squares, so the mean and Student's t rank the flips in the same order, and
    a test by either is the same. The data themselves count as one flip, so that p is never 0. All
    columns use the same draws; the order of the rows does not matter.

    Args:
        differences: float64 (queries, columns).
        permutations: Number of random flips.
        confidence: Level of the intervals.

    Returns:
        Two-sided p-values, (columns,), and half the widths of the means' intervals, from the
        distribution of t over the flips; NaN for a single query, infinite if there are too few
        queries for a bound.
    """
    n, columns = differences.shape
    differences = np.sort(differences, axis=0)
    sums = np.abs(differences.sum(axis=0))
    generator, sums_by_flip = np.random.default_rng(seed), [sums[None]]
    step = max(1, _DRAWN_AT_ONCE // n)
    for start in range(0, permutations, step):
        rows = min(step, permutations - start)
        signs = 2.0 * generator.integers(0, 2, (rows, n), dtype=np.int8) - 1.0
        sums_by_flip.append(np.abs(signs @ differences))
    flipped = np.concatenate(sums_by_flip)
    # A flip that gives the same difference up to rounding must count.
    threshold = sums * (1 - 1e-12) - 1e-15 * np.abs(differences).sum(axis=0)
    p_values = (flipped >= threshold).sum(axis=0) / (permutations + 1)
    if n < 2:
        return p_values, np.full(columns, math.nan)
    critical = np.quantile(flipped, confidence, axis=0, method="higher") / n
    largest = np.abs(differences).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    square, critical = ((differences / unit) ** 2).mean(axis=0), critical / unit
    variance = square - (differences / unit).mean(axis=0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = unit * critical * np.sqrt(variance / np.maximum(square - critical**2, 0.0))
    return p_values, np.where(variance <= 1e-14 * square, 0.0, margin)


def get_signs(left: Floats, right: Floats) -> NDArray[np.float32]:
    """Return the sign of every difference left[i] - right[j], as float32 (..., left, right)."""
    left, right = left[..., :, None], right[..., None, :]
    return ((left > right).view(np.int8) - (left < right).view(np.int8)).astype(np.float32)
