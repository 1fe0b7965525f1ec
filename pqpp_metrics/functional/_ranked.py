"""What the ranking metrics share: checked inputs, counts ahead of a document, groups of ties."""

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    as_array,
    as_finite,
    require_same_shape,
    same_library,
)

TIES = ("expected", "optimistic", "pessimistic", "order")


def ranking_inputs(scores, relevance):
    """Check scores and relevance and bring them into one library.

    Args:
        scores: Retrieval scores, (queries, documents).
        relevance: Relevance, same shape.

    Returns:
        The namespace, the scores, and which documents are relevant (bool).

    Raises:
        MetricInputError: see `reciprocal_rank`.
    """
    xp, scores, gains = graded_inputs(scores, relevance)
    return xp, scores, gains > 0


def graded_inputs(scores, relevance):
    """As `ranking_inputs`, with the relevance grades as they came instead of yes or no."""
    xp, (scores, relevance) = same_library(
        scores=as_array("scores", scores), relevance=as_array("relevance", relevance)
    )
    scores = as_finite("scores", scores, ndim=2)
    relevance = as_finite("relevance", relevance, ndim=2)
    require_same_shape(scores=scores, relevance=relevance)
    if bool(xp.any(relevance < 0)):
        lowest = float(xp.min(relevance))
        raise MetricInputError(
            f"`relevance` holds {lowest:g}; relevance is 0 or above (0 means not relevant)"
        )
    return xp, scores, relevance


def count(xp, mask):
    """Count the True entries of each row of a bool array (queries, documents)."""
    return xp.sum(mask, axis=1, dtype=xp.int64)


def take_rows(xp, rows, *arrays):
    """Select rows of several arrays by their indices."""
    return [xp.take(array, rows, axis=0) for array in arrays]


def expected_reciprocal_rank(xp, ahead, tied, relevant, k):
    """Expected 1 / rank of the first relevant document of a group of ties in random order.

    Walks down the group: the first relevant document is at place j with the probability that
    the places before had none, times the share of relevant documents among those left.

    Args:
        xp: The array namespace.
        ahead: Documents ranked before the group, (queries,) integers.
        tied: Documents in the group.
        relevant: Relevant documents in the group, at least 1.
        k: Ranks beyond k give 0; None for no cut-off.

    Returns:
        float64 array (queries,).
    """
    ahead, tied, relevant = (xp.astype(part, xp.float64) for part in (ahead, tied, relevant))
    value = xp.zeros_like(ahead)
    none_so_far = xp.ones_like(ahead)
    for place in range(int(xp.max(tied - relevant)) + 1):
        left = xp.maximum(tied - place, relevant)
        rank = ahead + (place + 1)
        here = none_so_far * relevant / left
        value = value + (here / rank if k is None else xp.where(rank <= k, here / rank, 0.0))
        none_so_far = none_so_far * (left - relevant) / left
    return value


def relevant_in_top(xp, scores, relevant, k, ties):
    """Number of relevant documents among the first k, tied documents by the rule `ties`.

    Args:
        xp: The array namespace.
        scores: Finite scores, (queries, documents).
        relevant: Bool, same shape.
        k: The cut-off; all documents where it is at least their number.
        ties: One of `TIES`.

    Returns:
        float64 array (queries,).
    """
    documents = scores.shape[1]
    if k >= documents:
        return xp.astype(count(xp, relevant), xp.float64)
    threshold = _kth_largest(xp, scores, k)[:, None]
    above = scores > threshold
    tied = scores == threshold
    free = k - count(xp, above)
    tied_count = count(xp, tied)
    certain = xp.astype(count(xp, relevant & above), xp.float64)
    # The usual case, one document at the threshold, has one place left for it in every rule.
    candidates = tied & relevant
    tied_relevant = count(xp, candidates)
    if ties == "expected":
        share = xp.astype(free, xp.float64) / xp.astype(tied_count, xp.float64)
        return certain + xp.astype(tied_relevant, xp.float64) * share
    if ties == "optimistic":
        taken = xp.minimum(tied_relevant, free)
    elif ties == "pessimistic":
        taken = xp.maximum(free - (tied_count - tied_relevant), xp.zeros_like(free))
    else:
        place = xp.cumulative_sum(xp.astype(tied, xp.int64), axis=1)
        taken = count(xp, candidates & (place <= free[:, None]))
    return certain + xp.astype(taken, xp.float64)


def _kth_largest(xp, scores, k):
    """The k-th largest score of each row."""
    place = scores.shape[1] - k
    if array_api_compat.is_numpy_namespace(xp):
        # A partition finds one order statistic without sorting the row.
        return np.partition(scores, place, axis=1)[:, place]
    return xp.sort(scores, axis=1)[:, place]
