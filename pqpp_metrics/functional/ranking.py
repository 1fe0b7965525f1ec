"""Ranking metrics of relevant documents, with one value for each query.

Every function has the keyword-only arguments `scores`, any finite numbers, and `relevance`, both
(queries, documents); they must be named, because scikit-learn has the opposite order. The result is
a tensor for torch tensors, else a numpy array. A query without a relevant document scores 0, as in
trec_eval. A query's documents are ranked by descending score; `ties` is the rule for equal ones:

- "expected" (default): the exact expected value over all orders of the tied documents, which
  does not depend on how the documents happen to be stored (McSherry and Najork, "Computing
  Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores", ECIR
  2008);
- "optimistic", "pessimistic": relevant documents first, or last, among tied documents;
- "order": the earlier column first, as in a stable sort;
- "docno": trec_eval's rule, the document with the higher id first. It needs `document_ids`,
  names in the shape of `scores`: text is compared byte by byte as in trec_eval, integers as
  numbers.

Only equal scores are ties, as in trec_eval: round scores with float noise first.

Queries may have different numbers of documents: pass sequences of rows. `unretrieved` is the
relevance of documents that were not retrieved and therefore have no score, an array (queries, any
number) padded with 0; the relevant ones among them count as not found.

`relevance_level` is the least grade of a relevant document, as trec_eval's -l; None, the default,
means any above 0. `judged_only` removes documents without a judgment (relevance NaN or -1) before
ranks are counted, as trec_eval's -J does; without it NaN is an error.
"""

from __future__ import annotations

from typing import Unpack

from pqpp_metrics.functional._containers import Array, Values
from pqpp_metrics.functional._inputs import require_int
from pqpp_metrics.functional._rankings.inputs import RankingRules, Rules, convert_rankings
from pqpp_metrics.functional._rankings.order import count_true, divide
from pqpp_metrics.functional._rankings.ranked import count_relevant, get_chance_of_any


def reciprocal_rank(
    *, scores: Values, relevance: Values, k: int | None = None, **rules: Unpack[RankingRules]
) -> Array:
    """Return the reciprocal rank: 1 / the rank of the first relevant document.

    PQPP, section 3.2; Voorhees, "The TREC-8 Question Answering Track Report", 1999.

    Inputs and rules are those of `ranking`.

    Args:
        k: Only the first k ranks count: without a relevant document among them, the value is 0.
            None (default): all ranks count.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> scores = [[0.9, 0.8, 0.1], [0.5, 0.5, 0.1]]
        >>> reciprocal_rank(scores=scores, relevance=[[0, 1, 0], [0, 1, 0]]).tolist()
        [0.5, 0.75]
    """
    k = None if k is None else require_int("k", k)
    inputs = convert_rankings(scores, relevance, Rules(**rules))
    xp, scored, relevant = inputs.xp, inputs.scores, inputs.relevant(inputs.relevance)
    k = min(k or scored.shape[1], scored.shape[1])
    best = xp.max(xp.where(relevant, scored, -xp.inf), axis=1)
    tied, n_above = scored == best[:, None], count_true(xp, scored > best[:, None])
    n_tied, has_relevant, rank = count_true(xp, tied), best > -xp.inf, n_above + 1
    # Without a tie the rank is certain, and every rule gives the same result.
    rows = xp.nonzero(has_relevant & (n_tied > 1))[0]
    tied, relevant = (xp.take(part, rows, axis=0) for part in (tied, relevant))
    if inputs.ties == "pessimistic":
        rank[rows] += count_true(xp, tied & ~relevant)
    elif inputs.ties == "order":
        reached = xp.cumulative_sum(xp.astype(tied & relevant, xp.int64), axis=1) > 0
        rank[rows] += count_true(xp, tied & ~reached)
    values = xp.where(has_relevant & (rank <= k), 1.0 / xp.astype(rank, xp.float64), 0.0)
    if inputs.ties == "expected" and rows.shape[0]:
        parts = n_above[rows], n_tied[rows], count_true(xp, tied & relevant)
        n_above, n_tied, hits = (xp.astype(part, xp.float64) for part in parts)
        values[rows], p_none = 0.0, xp.ones_like(hits)
        # For each position in the tie: the probability that no earlier one has a relevant document,
        # times the share of relevant documents among the remaining ones.
        for index in range(int(xp.max(n_tied - hits)) + 1):
            remaining, position = xp.maximum(n_tied - index, hits), n_above + (index + 1)
            values[rows] += xp.where(position <= k, p_none * hits / remaining / position, 0.0)
            p_none = p_none * (remaining - hits) / remaining
    return values


def precision_at_k(
    *, scores: Values, relevance: Values, k: int = 10, **rules: Unpack[RankingRules]
) -> Array:
    """Return precision at k: the share of relevant documents among the first k.

    PQPP, section 3.2, with k = 10.

    Inputs and rules are those of `ranking`.

    Args:
        k: The cut-off. With fewer than k documents the divisor stays k, as in trec_eval: empty
            ranks count as not relevant.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> scores = [[0.9, 0.5, 0.5], [3, 2, 1]]
        >>> precision_at_k(scores=scores, relevance=[[1, 1, 0], [0, 0, 1]], k=2).tolist()
        [0.75, 0.0]
    """
    k = require_int("k", k)
    inputs = convert_rankings(scores, relevance, Rules(**rules))
    return count_relevant(inputs, k) / k


def recall_at_k(
    *, scores: Values, relevance: Values, k: int = 10, **rules: Unpack[RankingRules]
) -> Array:
    """Return recall at k: the share of a query's relevant documents that are among the first k.

    This is TREC's recall; Recall@K of text-to-image papers is `hit_rate_at_k`.

    Inputs and rules are those of `ranking`.

    Args:
        k: The cut-off.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> scores = [[0.9, 0.5, 0.5], [3, 2, 1]]
        >>> recall_at_k(scores=scores, relevance=[[1, 1, 0], [0, 0, 1]], k=2).tolist()
        [0.75, 0.0]
    """
    k = require_int("k", k)
    inputs = convert_rankings(scores, relevance, Rules(**rules))
    return divide(inputs.xp, count_relevant(inputs, k), inputs.number_relevant)


def hit_rate_at_k(
    *, scores: Values, relevance: Values, k: int = 10, **rules: Unpack[RankingRules]
) -> Array:
    """Return the hit rate at k: whether any of the first k documents is relevant.

    ConQA (Rodriguez et al., ECIR 2024), section 5: text-to-image papers call its mean Recall@K.

    Inputs and rules are those of `ranking`.

    Args:
        k: The cut-off.
        ties: The rule for equal scores, see `ranking`; "expected" gives the probability of a
            hit.

    Returns:
        float64 array (queries,): 1 for a hit, 0 for none, and between 0 and 1 if a tie decides.

    Example:
        >>> scores = [[0.9, 0.5, 0.5], [3, 2, 1]]
        >>> hit_rate_at_k(scores=scores, relevance=[[0, 1, 0], [0, 1, 0]], k=2).tolist()
        [0.5, 1.0]
    """
    k = require_int("k", k)
    inputs = convert_rankings(scores, relevance, Rules(**rules))
    return inputs.xp.clip(count_relevant(inputs, k, expected=get_chance_of_any), 0.0, 1.0)


def r_precision(*, scores: Values, relevance: Values, **rules: Unpack[RankingRules]) -> Array:
    """Return R-precision: the share of relevant documents among the first R, of R relevant ones.

    ConQA (Rodriguez et al., ECIR 2024), section 5; Buckley and Voorhees, "Retrieval System
    Evaluation", 2005.

    Inputs and rules are those of `ranking`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> scores = [[0.9, 0.5, 0.5], [3, 2, 1]]
        >>> r_precision(scores=scores, relevance=[[1, 1, 0], [0, 0, 1]]).tolist()
        [0.75, 0.0]
    """
    inputs = convert_rankings(scores, relevance, Rules(**rules))
    cutoff = inputs.xp.clip(inputs.number_relevant, 1, inputs.scores.shape[1])
    return divide(inputs.xp, count_relevant(inputs, cutoff), inputs.number_relevant)
