"""How well a ranking puts relevant documents first: one value for each query.

Every function takes scores, any finite numbers, and relevance, (queries, documents); for torch
tensors the values come back as one, else in numpy. A query without a relevant document scores 0, as
in trec_eval. A query's documents are ranked by falling score. Documents with equal scores have
no order of their own; `ties` says what is done about it:

- "expected" (default): the exact expected value over all orders of the tied documents, which
  does not depend on how the documents happen to be stored (McSherry and Najork, "Computing
  Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores", ECIR
  2008);
- "optimistic", "pessimistic": relevant documents first, or last, among their equals;
- "order": the earlier column first, as a stable sort gives;
- "docno": trec_eval's rule, the document whose number is higher first. It needs `document_ids`,
  names in the shape of `scores`: text is compared byte by byte as trec_eval does, integers as
  numbers.

`tie_tolerance` says which scores are equal: with 0, the default, only those that are, as in
trec_eval, since scores may span many orders of magnitude; with 1e-12, say, also neighbours in
order whose difference is at most this share of the query's range of scores, which undoes the
noise of sums in different orders.

Queries may have different numbers of documents: give sequences of rows, as judgments come from
ConQA, and each query is scored on its own documents. Relevant documents that have no score because
they were not retrieved are given as `unretrieved`, their relevance in an array (queries, any
number), 0 where there are fewer; they count as relevant ones that were not found.

`relevance_level` is the least grade of a relevant document, as trec_eval's -l; None, the default,
takes any above 0. With `judged_only` documents whose relevance is NaN or -1, for they were never
judged, are taken out before ranks are counted, as by trec_eval's -J; without it only the metrics
of `incomplete_judgments` take NaN.
"""

from __future__ import annotations

import numpy as np

from pqpp_metrics.functional._inputs import require_int
from pqpp_metrics.functional._rankings.inputs import Rules, ranking_inputs
from pqpp_metrics.functional._rankings.ranked import (
    any_relevant_in_top,
    count,
    mean_reciprocal_of_tie,
    only_where,
    relevant_in_top,
    take_rows,
)
from pqpp_metrics.functional._types import Array, Values


def reciprocal_rank(
    scores: Values,
    relevance: Values,
    k: int | None = None,
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Reciprocal rank: 1 / the rank of the first relevant document.

    PQPP, section 3.2; Voorhees, "The TREC-8 Question Answering Track Report", 1999.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see
            `relevance_level`.
        k: Only the first k ranks count: a first relevant document beyond them gives 0. None
            (default) counts all.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> reciprocal_rank([[0.9, 0.8, 0.1], [0.5, 0.5, 0.1]], [[0, 1, 0], [0, 1, 0]]).tolist()
        [0.5, 0.75]
    """
    k = None if k is None else require_int("k", k)
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules)
    return given.by_blocks(
        lambda block: block.in_shared_order(
            lambda part: _reciprocal_of_order(part, k), lambda part: _reciprocal_rank(part, k)
        )
    )


def _reciprocal_of_order(given, k):
    relevant = given.relevant(given.packed.ordered)
    first = relevant.argmax(axis=1)
    found = relevant[np.arange(len(first)), first]
    return _one_over(np, first + 1, found, k)


def _reciprocal_rank(given, k):
    xp, scores, ties = given.xp, given.scores, given.ties
    relevant = given.marks
    best = xp.max(only_where(xp, scores, relevant), axis=1)
    found = best > -xp.inf
    tied = scores == best[:, None]
    tied_count = count(xp, tied)
    ahead = count(xp, scores > best[:, None])
    # Where no equal stands beside it, the rank is certain and every rule gives the same.
    rank = ahead + 1
    rows = xp.nonzero(found & (tied_count > 1))[0]
    if rows.shape[0] and ties != "optimistic":
        tied, relevant = take_rows(xp, rows, tied, relevant)
        if ties == "expected":
            values = _one_over(xp, rank, found, k)
            values[rows] = mean_reciprocal_of_tie(
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


def precision_at_k(
    scores: Values,
    relevance: Values,
    k: int = 10,
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Precision at k: the share of relevant documents among the first k.

    PQPP, section 3.2, with k = 10.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see
            `relevance_level`.
        k: The cut-off. With fewer than k documents the divisor stays k, as in trec_eval: places
            that were not filled count as not relevant.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> precision_at_k([[0.9, 0.5, 0.5], [3, 2, 1]], [[1, 1, 0], [0, 0, 1]], k=2).tolist()
        [0.75, 0.0]
    """
    k = require_int("k", k)

    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules)
    return given.by_blocks(lambda block: _found(block, k) / k)


def _found(given, k):
    """Relevant documents among the first k."""
    k = min(k, given.scores.shape[1])
    return given.in_shared_order(
        lambda part: count(np, part.relevant(part.packed.ordered[:, :k])).astype(np.float64),
        lambda part: _found_by_scores(part, k),
    )


def _found_by_scores(given, k):
    """The same of scores; k may differ by query."""
    relevant = given.marks
    return relevant_in_top(given.xp, given.scores, relevant, k, given.ties)


def recall_at_k(
    scores: Values,
    relevance: Values,
    k: int = 10,
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Recall at k: the share of a query's relevant documents that are among the first k.

    TREC's recall. What text-to-image papers call Recall@K is `hit_rate_at_k`.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see
            `relevance_level`.
        k: The cut-off.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> recall_at_k([[0.9, 0.5, 0.5], [3, 2, 1]], [[1, 1, 0], [0, 0, 1]], k=2).tolist()
        [0.75, 0.0]
    """
    k = require_int("k", k)

    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules, unretrieved)
    return given.by_blocks(lambda block: _share(block.xp, _found(block, k), block.number_relevant))


def hit_rate_at_k(
    scores: Values,
    relevance: Values,
    k: int = 10,
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Hit rate at k: whether any of the first k documents is relevant.

    ConQA (Rodriguez et al., ECIR 2024), section 5: text-to-image papers call its mean Recall@K.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see
            `relevance_level`.
        k: The cut-off.
        ties: How equal scores are ordered, see `ranking`; "expected" gives the probability of a
            hit.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,): 1 for a hit, 0 for none, between them where a tie decides.

    Example:
        >>> hit_rate_at_k([[0.9, 0.5, 0.5], [3, 2, 1]], [[0, 1, 0], [0, 1, 0]], k=2).tolist()
        [0.5, 1.0]
    """
    k = require_int("k", k)

    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules)
    return given.by_blocks(lambda block: _any_found(block, k))


def _any_found(given, k):
    relevant = given.marks
    k = min(k, relevant.shape[1])
    return any_relevant_in_top(given.xp, given.scores, relevant, k, given.ties)


def r_precision(
    scores: Values,
    relevance: Values,
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """R-precision: the share of relevant documents among the first R, R being their number.

    ConQA (Rodriguez et al., ECIR 2024), section 5; Buckley and Voorhees, "Retrieval System
    Evaluation", 2005.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see
            `relevance_level`.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> r_precision([[0.9, 0.5, 0.5], [3, 2, 1]], [[1, 1, 0], [0, 0, 1]]).tolist()
        [0.75, 0.0]
    """
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules, unretrieved)
    return given.by_blocks(lambda block: block.in_shared_order(_r_precision_of_order, _r_precision))


def _r_precision_of_order(given):
    relevant, number = given.relevant(given.packed.ordered), given.number_relevant
    small = np.min_scalar_type(int(number.max()) + relevant.shape[1])
    first = np.arange(relevant.shape[1], dtype=small) < number.astype(small)[:, None]
    return _share(np, count(np, relevant & first), number)


def _r_precision(given):
    number = given.number_relevant
    top = given.xp.clip(number, 1, given.scores.shape[1])
    return _share(given.xp, _found_by_scores(given, top), number)


def _share(xp, found, number):
    """Found of a number, 0 of none."""
    number = xp.astype(number, xp.float64)
    return xp.where(number > 0, found / xp.clip(number, 1.0, None), 0.0)
