"""Count relevant documents among the first k, and order gains by rank, with ties."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import array_api_compat
import numpy as np

from pqpp_metrics.functional._containers import Array
from pqpp_metrics.functional._rankings.inputs import RankingInputs
from pqpp_metrics.functional._rankings.order import count_true, order_documents


def get_expected_relevant(xp: ModuleType, tied: Array, relevant: Array, slots: Array) -> Array:
    """Return the expected number of relevant documents among `slots` randomly chosen tied ones."""
    return relevant * slots / tied


def get_chance_of_any(xp: ModuleType, tied: Array, relevant: Array, slots: Array) -> Array:
    """Return the probability that `slots` randomly chosen tied documents include a relevant one."""
    p_none = xp.ones_like(tied)
    for index in range(int(xp.max(slots))):
        misses = xp.maximum(tied - relevant - index, xp.zeros_like(tied))
        remaining = xp.maximum(tied - index, xp.ones_like(tied))
        p_none = xp.where(index < slots, p_none * misses / remaining, p_none)
    return 1.0 - p_none


def count_relevant(
    inputs: RankingInputs,
    k: int | Array,
    expected: Callable[..., Array] = get_expected_relevant,
) -> Array:
    """Return the number of relevant documents among the first k, float64 (queries,).

    Args:
        k: One rank for all queries, or (queries,); at most the number of documents.
        expected: With ties="expected", a function that returns what the documents tied at the k-th
            score add to the count.
    """
    xp, scores, is_relevant = inputs.xp, inputs.scores, inputs.relevant(inputs.relevance)
    k = min(k, scores.shape[1]) if isinstance(k, int) else k
    threshold = _get_kth_largest(inputs, k)[:, None]
    reached = scores >= threshold
    relevant_counts = xp.astype(count_true(xp, is_relevant & reached), xp.float64)
    rows = xp.nonzero(count_true(xp, reached) > k)[0]
    if not rows.shape[0]:
        return relevant_counts
    # The rule for ties matters only if more than k documents reach the k-th score.
    scores, is_relevant, threshold = (
        xp.take(part, rows, axis=0) for part in (scores, is_relevant, threshold)
    )
    above, tied = scores > threshold, scores == threshold
    candidates = tied & is_relevant
    slots = (k if isinstance(k, int) else xp.take(k, rows)) - count_true(xp, above)
    counts = count_true(xp, tied), count_true(xp, candidates), slots
    if inputs.ties == "expected":
        counted = expected(xp, *(xp.astype(part, xp.float64) for part in counts))
    elif inputs.ties == "order":
        position = xp.cumulative_sum(xp.astype(tied, xp.int64), axis=1)
        counted = count_true(xp, candidates & (position <= slots[:, None]))
    elif inputs.ties == "optimistic":
        counted = xp.minimum(counts[1], slots)
    else:
        counted = xp.maximum(slots - (counts[0] - counts[1]), xp.zeros_like(slots))
    certain = xp.astype(count_true(xp, is_relevant & above), xp.float64)
    relevant_counts[rows] = certain + xp.astype(counted, xp.float64)
    return relevant_counts


def _get_kth_largest(inputs, k):
    """Return the k-th largest score of each row; k is an integer or an array (queries,)."""
    xp, scores, documents = inputs.xp, inputs.scores, inputs.scores.shape[1]
    if isinstance(k, int) and array_api_compat.is_numpy_namespace(xp) and not inputs.is_ranked:
        # A partition finds one order statistic without sorting the row.
        return np.partition(scores, documents - k, axis=1)[:, documents - k]
    ranked = scores if inputs.is_ranked else xp.flip(xp.sort(scores, axis=1, stable=False), axis=1)
    if isinstance(k, int):
        return ranked[:, k - 1]
    return xp.take_along_axis(ranked, (k - 1)[:, None], axis=1)[:, 0]


class TieGroups(NamedTuple):
    """For each rank of some queries, the group of tied documents at that rank.

    Attributes:
        rows: The indices of these queries; the other arrays have the shape (queries, documents).
        size: The number of documents in the group.
        start: The number of documents ranked before the group.
        gain: The group's total gain.
        gain_before: The total gain of the documents ranked before the group.
    """

    rows: Array
    size: Array
    start: Array
    gain: Array
    gain_before: Array


def get_ranked_gains(
    inputs: RankingInputs, gain: Callable[[Array], Array]
) -> tuple[Array, TieGroups | None]:
    """Return gains by rank, float64 (queries, documents), and the tie groups, or None without ties.

    `gain` is a function from grades to gains. With ties="expected", the gains of tied documents are
    not yet averaged; `get_mean_gains` does that.
    """
    xp = inputs.xp
    scores, ranked = inputs.scores, xp.astype(gain(inputs.relevance), xp.float64)
    if not inputs.is_ranked:
        order = order_documents(xp, scores, ranked, inputs.ties)
        scores, ranked = (xp.take_along_axis(part, order, axis=1) for part in (scores, ranked))
    if inputs.ties != "expected":
        return ranked, None
    rows = xp.nonzero(xp.any(scores[:, 1:] == scores[:, :-1], axis=1))[0]
    if not rows.shape[0]:
        return ranked, None
    # The scores are descending, and the gains are in the same order.
    scores, gains = (xp.take(part, rows, axis=0) for part in (scores, ranked))
    queries, documents = scores.shape
    is_start = scores[:, 1:] != scores[:, :-1]
    is_start = xp.reshape(xp.concat([xp.ones_like(is_start[:, :1]), is_start], axis=1), (-1,))
    starts = xp.nonzero(is_start)[0]
    end = xp.full_like(starts[:1], queries * documents)
    group = xp.cumulative_sum(xp.astype(is_start, starts.dtype)) - 1
    first = xp.take(starts, group)
    last = xp.take(xp.concat([starts[1:], end]), group) - 1
    # Sum within each query, since sums over all queries would lose digits.
    total = xp.reshape(xp.cumulative_sum(gains, axis=1), (-1,))
    before = xp.take(total, first) - xp.take(xp.reshape(gains, (-1,)), first)
    parts = last - first + 1, first % documents, xp.take(total, last) - before, before
    return ranked, TieGroups(rows, *(xp.reshape(part, (queries, documents)) for part in parts))


def get_mean_gains(inputs: RankingInputs, gain: Callable[[Array], Array]) -> Array:
    """Return gains by rank; with ties="expected", a tied document has its group's mean gain."""
    ranked, tied = get_ranked_gains(inputs, gain)
    if tied is not None:
        ranked[tied.rows, :] = tied.gain / inputs.xp.astype(tied.size, inputs.xp.float64)
    return ranked
