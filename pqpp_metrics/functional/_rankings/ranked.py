"""What the ranking metrics share: counts, and relevant documents in the top k."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np

from pqpp_metrics.functional._types import Array, Floats


def below(lowest: float | Floats, highest: float | Floats) -> Any:
    """A finite score below all of a query, too far to tie with any; also of arrays."""
    with np.errstate(over="ignore"):
        far = np.maximum(lowest - (highest - lowest), -np.finfo(np.float64).max)
    return np.minimum(far, np.nextafter(lowest, -np.inf))


def only_where(xp: ModuleType, scores: Array, mask: Array) -> Array:
    """Scores where a mask is True, minus infinity elsewhere."""
    if array_api_compat.is_numpy_namespace(xp):
        # Adding 0 or -inf from a table is several times as fast as a choice at random.
        return scores + np.take(np.asarray([-np.inf, 0.0], scores.dtype), mask.view(np.int8))
    lowest = xp.asarray(-xp.inf, dtype=scores.dtype, device=array_api_compat.device(scores))
    return xp.where(mask, scores, lowest)


def count(xp: ModuleType, mask: Array) -> Array:
    """Count the True entries of each row of a bool array (queries, documents)."""
    # Bytes add up four times as fast as integers of 64 bits, and rows this short fit them.
    small = mask.shape[1] < 256
    counts = xp.sum(mask, axis=1, dtype=xp.uint8 if small else xp.int64)
    return xp.astype(counts, xp.int64)


def take_rows(xp: ModuleType, rows: Array, *arrays: Array) -> list[Array]:
    """Select rows of several arrays by their indices."""
    return [xp.take(array, rows, axis=0) for array in arrays]


def as_float(xp: ModuleType, *arrays: Array) -> list[Array]:
    """Several arrays as float64."""
    return [xp.astype(array, xp.float64) for array in arrays]


def mean_reciprocal_of_tie(
    xp: ModuleType, ahead: Array, tied: Array, relevant: Array, k: int | None
) -> Array:
    """Expected 1 / rank of the first relevant document of a group of ties in random order.

    Walks down the group: the first relevant document is at place j with the probability that
    the places before had none, times the share of relevant documents among those left.

    Args:
        xp: The array namespace.
        ahead: Documents ranked before the group, integers (queries,).
        tied: Documents in the group.
        relevant: Relevant documents in the group, at least 1.
        k: Ranks beyond k give 0; None for no cut-off.
    """
    ahead, tied, relevant = as_float(xp, ahead, tied, relevant)
    value = xp.zeros_like(ahead)
    none_so_far = xp.ones_like(ahead)
    for place in range(int(xp.max(tied - relevant)) + 1):
        left = xp.maximum(tied - place, relevant)
        rank = ahead + (place + 1)
        here = none_so_far * relevant / left
        value = value + (here / rank if k is None else xp.where(rank <= k, here / rank, 0.0))
        none_so_far = none_so_far * (left - relevant) / left
    return value


def relevant_in_top(xp: ModuleType, scores: Array, relevant: Array, k: Array, ties: str) -> Array:
    """Number of relevant documents among the first k, which may differ by query, as float64."""
    return _at_threshold(xp, scores, relevant, k, ties, _share_of_tied)


def any_relevant_in_top(
    xp: ModuleType, scores: Array, relevant: Array, k: Array, ties: str
) -> Array:
    """Whether a relevant document is among the first k: 1, 0, or under ties its probability."""
    found = _at_threshold(xp, scores, relevant, k, ties, _chance_of_any)
    return xp.clip(found, 0.0, 1.0)


def _at_threshold(xp, scores, relevant, k, ties, expected):
    """Relevant documents above the k-th largest score, plus what the ties at it contribute."""
    threshold = kth_largest(xp, scores, k)[:, None]
    reached = scores >= threshold
    sure = xp.astype(count(xp, relevant & reached), xp.float64)
    rows = xp.nonzero(count(xp, reached) > k)[0]
    if not rows.shape[0]:
        return sure
    # Only where more than k documents reach the k-th score does the rule for ties matter.
    scores, relevant, threshold = take_rows(xp, rows, scores, relevant, threshold)
    k = k if isinstance(k, int) else xp.take(k, rows)
    above, tied = scores > threshold, scores == threshold
    candidates, free = tied & relevant, k - count(xp, above)
    certain = xp.astype(count(xp, relevant & above), xp.float64)
    counts = count(xp, tied), count(xp, candidates), free
    if ties == "expected":
        taken = expected(xp, *as_float(xp, *counts))
    elif ties == "order":
        place = xp.cumulative_sum(xp.astype(tied, xp.int64), axis=1)
        taken = count(xp, candidates & (place <= free[:, None]))
    else:
        taken = _extreme(xp, *counts, ties)
    sure[rows] = certain + xp.astype(taken, xp.float64)
    return sure


def _share_of_tied(xp, tied, relevant, free):
    """Expected number of relevant documents among the tied ones that get a place."""
    return relevant * free / tied


def _chance_of_any(xp, tied, relevant, free):
    """Probability that one of the relevant tied documents gets a place."""
    none = xp.ones_like(tied)
    for place in range(int(xp.max(free))):
        misses = xp.maximum(tied - relevant - place, xp.zeros_like(tied))
        left = xp.maximum(tied - place, xp.ones_like(tied))
        none = xp.where(place < free, none * misses / left, none)
    return 1.0 - none


def _extreme(xp, tied, relevant, free, ties):
    """Number of relevant documents placed when they come first, or last, among the tied."""
    if ties == "optimistic":
        return xp.minimum(relevant, free)
    return xp.maximum(free - (tied - relevant), xp.zeros_like(free))


def kth_largest(xp: ModuleType, scores: Array, k: Array) -> Array:
    """The k-th largest score of each row; k is one for all, or an array (queries,)."""
    documents = scores.shape[1]
    if isinstance(k, int) and array_api_compat.is_numpy_namespace(xp):
        # A partition finds one order statistic without sorting the row.
        return np.partition(scores, documents - k, axis=1)[:, documents - k]
    ordered = xp.sort(scores, axis=1, stable=False)
    if isinstance(k, int):
        return ordered[:, documents - k]
    return xp.take_along_axis(ordered, (documents - k)[:, None], axis=1)[:, 0]
