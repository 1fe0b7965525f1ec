"""Relevant documents among the first k and grades by rank, whatever is tied there."""

from collections.abc import Callable
from types import ModuleType

import array_api_compat
import numpy as np

from pqpp_metrics.functional._containers import Array, Floats
from pqpp_metrics.functional._inputs import to_numpy
from pqpp_metrics.functional._rankings.inputs import RankingInputs
from pqpp_metrics.functional._rankings.order import count, document_order


def expected_number(xp: ModuleType, tied: Array, relevant: Array, free: Array) -> Array:
    """Expected number of relevant documents among the tied ones that get a free place."""
    return relevant * free / tied


def chance_of_any(xp: ModuleType, tied: Array, relevant: Array, free: Array) -> Array:
    """Probability that one of the relevant tied documents gets a free place."""
    none = xp.ones_like(tied)
    for place in range(int(xp.max(free))):
        misses = xp.maximum(tied - relevant - place, xp.zeros_like(tied))
        left = xp.maximum(tied - place, xp.ones_like(tied))
        none = xp.where(place < free, none * misses / left, none)
    return 1.0 - none


def relevant_in_top(
    given: RankingInputs,
    k: int | Array,
    relevant: Callable[[Array], Array] | None = None,
    expected: Callable[..., Array] = expected_number,
) -> Array:
    """Number of relevant documents among the first k, as float64 (queries,).

    Args:
        given: Of any library.
        k: One for all or (queries,), no more than there are documents.
        relevant: Which grades count, if not those of relevant documents.
        expected: What documents tied at the k-th score add with ties="expected".
    """
    xp, scores = given.xp, given.scores
    relevant = relevant or given.relevant
    if given.order is not None:
        ranks = np.arange(scores.shape[1], dtype=np.min_scalar_type(scores.shape[1]))
        first = ranks < (k if isinstance(k, int) else k.astype(ranks.dtype)[:, None])
        return count(np, relevant(given.order.grades) & first).astype(np.float64)
    is_relevant = relevant(given.relevance)
    threshold = _kth_largest(xp, scores, k)[:, None]
    reached = scores >= threshold
    found = xp.astype(count(xp, is_relevant & reached), xp.float64)
    rows = xp.nonzero(count(xp, reached) > k)[0]
    if not rows.shape[0]:
        return found
    # Only where more than k documents reach the k-th score does the rule for ties matter.
    scores, is_relevant, threshold = (
        xp.take(part, rows, axis=0) for part in (scores, is_relevant, threshold)
    )
    above, tied = scores > threshold, scores == threshold
    candidates = tied & is_relevant
    free = (k if isinstance(k, int) else xp.take(k, rows)) - count(xp, above)
    counts = count(xp, tied), count(xp, candidates), free
    if given.ties == "expected":
        taken = expected(xp, *(xp.astype(part, xp.float64) for part in counts))
    elif given.ties == "order":
        place = xp.cumulative_sum(xp.astype(tied, xp.int64), axis=1)
        taken = count(xp, candidates & (place <= free[:, None]))
    elif given.ties == "optimistic":
        taken = xp.minimum(counts[1], free)
    else:
        taken = xp.maximum(free - (counts[0] - counts[1]), xp.zeros_like(free))
    certain = xp.astype(count(xp, is_relevant & above), xp.float64)
    found[rows] = certain + xp.astype(taken, xp.float64)
    return found


def _kth_largest(xp, scores, k):
    """The k-th largest score of each row; k is one for all, or an array (queries,)."""
    documents = scores.shape[1]
    if isinstance(k, int) and array_api_compat.is_numpy_namespace(xp):
        # A partition finds one order statistic without sorting the row.
        return np.partition(scores, documents - k, axis=1)[:, documents - k]
    ordered = xp.sort(scores, axis=1, stable=False)
    if isinstance(k, int):
        return ordered[:, documents - k]
    return xp.take_along_axis(ordered, (documents - k)[:, None], axis=1)[:, 0]


def of_ranks(
    given: RankingInputs,
    of_ranked: Callable[..., Floats],
    of_groups: Callable[..., float],
    *totals: Array,
    priority: Array | None = None,
) -> Array:
    """Values of queries from their grades by rank, with ties resolved.

    Args:
        given: Of any library.
        of_ranked: From grades by rank, (queries, documents), and totals to values (queries,).
        of_groups: From one query's grades, a list of arrays of equals by rank, and its totals to
            the expected value over all orders of equals.
        totals: Arrays (queries,), behind the first one, the number of relevant documents.
        priority: What comes first among equals under "optimistic", (queries, documents); None: the
            relevant documents.

    Returns:
        float64 array (queries,) in the library of `given`.
    """
    priority = given.relevant(given.relevance) if priority is None else priority
    scores, priority = (to_numpy(part).astype(np.float64) for part in (given.scores, priority))
    sums = [np.asarray(to_numpy(total)) for total in (given.number_relevant, *totals)]
    xp = array_api_compat.array_namespace(scores)
    order = document_order(xp, scores, priority, given.ties, stable=True)
    ranked = np.take_along_axis(to_numpy(given.relevance), order, axis=1)
    values = of_ranked(ranked, *sums).astype(np.float64)
    if given.ties == "expected":
        ordered = np.take_along_axis(scores, order, axis=1)
        begins = ordered[:, 1:] != ordered[:, :-1]
        codes = np.nan_to_num(ranked, nan=-2)
        # Equals that are alike have one order as far as a metric sees.
        for row in np.flatnonzero((~begins & (codes[:, 1:] != codes[:, :-1])).any(axis=1)):
            groups = np.split(ranked[row], np.flatnonzero(begins[row]) + 1)
            values[row] = of_groups(groups, *(total[row] for total in sums))
    return given.xp.asarray(values, device=array_api_compat.device(given.scores))
