"""How well a ranking puts relevant documents first: one value for each query.

Every function takes scores and relevance, arrays (queries, documents) of any Array API library,
and ranks a query's documents by falling score. Documents with equal scores have no order of
their own; `ties` says what is done about it:

- "expected" (default): the exact expected value over all orders of the tied documents, which
  does not depend on how the documents happen to be stored (McSherry and Najork, "Computing
  Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores", ECIR
  2008);
- "optimistic", "pessimistic": relevant documents first, or last, among their equals;
- "order": the earlier column first, as a stable sort gives.
"""

import array_api_compat

from pqpp_metrics.functional._inputs import require_choice, require_positive_int
from pqpp_metrics.functional._ranked import (
    TIES,
    count,
    expected_reciprocal_rank,
    ranking_inputs,
    relevant_in_top,
    take_rows,
)


def reciprocal_rank(scores, relevance, k=None, ties="expected"):
    """Reciprocal rank: 1 / the rank of the first relevant document.

    PQPP, section 3.2; Voorhees, "The TREC-8 Question Answering Track Report", 1999.

    Args:
        scores: Retrieval scores, shape (queries, documents), higher is ranked first, any finite
            numbers, negative ones too.
        relevance: Relevance, same shape; a document is relevant where it is above 0.
        k: Only the first k ranks count: a first relevant document beyond them gives 0. None
            (default) counts all.
        ties: How equal scores are ordered, see the module's text.

    Returns:
        float64 array (queries,) of the scores' library, each in [0, 1]; 0 for a query without
        a relevant document.

    Raises:
        MetricInputError: shapes that differ, no queries or no documents, NaN or infinite
            values, negative relevance, a `k` that is no positive integer, an unknown `ties`.

    Example:
        >>> reciprocal_rank([[0.9, 0.8, 0.1], [0.5, 0.5, 0.1]], [[0, 1, 0], [0, 1, 0]]).tolist()
        [0.5, 0.75]
    """
    require_choice("ties", ties, TIES)
    k = None if k is None else require_positive_int("k", k)
    xp, scores, relevant = ranking_inputs(scores, relevance)
    lowest = xp.asarray(-xp.inf, dtype=scores.dtype, device=array_api_compat.device(scores))
    best = xp.max(xp.where(relevant, scores, lowest), axis=1)
    found = best > lowest
    ahead = count(xp, scores > best[:, None])
    tied = scores == best[:, None]
    tied_count = count(xp, tied)
    # Where no equal stands beside it, the rank is certain and every rule gives the same.
    rank = ahead + 1
    rows = xp.nonzero(found & (tied_count > 1))[0]
    if rows.shape[0] and ties != "optimistic":
        tied, relevant = take_rows(xp, rows, tied, relevant)
        if ties == "expected":
            values = _one_over(xp, rank, found, k)
            values[rows] = expected_reciprocal_rank(
                xp, *take_rows(xp, rows, ahead, tied_count), count(xp, tied & relevant), k
            )
            return values
        rank[rows] += _tied_ahead(xp, tied, relevant, ties)
    return _one_over(xp, rank, found, k)


def _one_over(xp, rank, found, k):
    """1 / rank where a relevant document was found within the first k ranks, else 0."""
    counts = found if k is None else found & (rank <= k)
    return xp.where(counts, 1.0 / xp.astype(rank, xp.float64), 0.0)


def _tied_ahead(xp, tied, relevant, ties):
    """Number of tied documents before the first relevant one, by the rule `ties`."""
    if ties == "pessimistic":
        return count(xp, tied & ~relevant)
    reached = xp.cumulative_sum(xp.astype(tied & relevant, xp.int64), axis=1) > 0
    return count(xp, tied & ~reached)


def precision_at_k(scores, relevance, k=10, ties="expected"):
    """Precision at k: the share of relevant documents among the first k.

    PQPP, section 3.2, with k = 10.

    Args:
        scores: Retrieval scores, shape (queries, documents), higher is ranked first, any finite
            numbers, negative ones too.
        relevance: Relevance, same shape; a document is relevant where it is above 0.
        k: The cut-off. With fewer than k documents the divisor stays k, as in trec_eval: places
            that were not filled count as not relevant.
        ties: How equal scores are ordered, see the module's text.

    Returns:
        float64 array (queries,) of the scores' library, each in [0, 1]; 0 for a query without
        a relevant document.

    Raises:
        MetricInputError: as `reciprocal_rank`.

    Example:
        >>> precision_at_k([[0.9, 0.5, 0.5], [3, 2, 1]], [[1, 1, 0], [0, 0, 1]], k=2).tolist()
        [0.75, 0.0]
    """
    require_choice("ties", ties, TIES)
    k = require_positive_int("k", k)
    xp, scores, relevant = ranking_inputs(scores, relevance)
    return relevant_in_top(xp, scores, relevant, k, ties) / k
