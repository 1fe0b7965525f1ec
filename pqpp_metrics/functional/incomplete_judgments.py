"""Ranking metrics that know which documents were never judged.

Here relevance may be NaN, for a document that nobody looked at, and -1, for one of the pool that
was left out of the sample that was judged, as TREC's files have it. `unretrieved` holds the grades
of all judged documents that were not retrieved: 0 is one that is judged not relevant, and NaN fills
up rows. All else is as in `ranking`.
"""

from __future__ import annotations

import array_api_compat
import numpy as np

from pqpp_metrics.functional._containers import Array, Values
from pqpp_metrics.functional._inputs import require_int
from pqpp_metrics.functional._rankings.inputs import Rules, ranking_inputs
from pqpp_metrics.functional._rankings.order import share
from pqpp_metrics.functional._rankings.ranked import of_ranks, relevant_in_top

# As in trec_eval, so that a rank with nothing judged above it has a precision.
_EPSILON = 1e-5


def bpref(
    scores: Values,
    relevance: Values,
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    document_ids: Values | None = None,
) -> Array:
    """Binary preference: how few judged irrelevant documents stand above the relevant ones.

    Buckley and Voorhees, "Retrieval Evaluation with Incomplete Information", SIGIR 2004, in the
    form of trec_eval: the mean over all R relevant documents, 0 for one that was not retrieved, of
    1 - (the judged irrelevant documents above it, at most R) / min(R, N), N being all judged
    irrelevant ones. Documents without a judgment change nothing.

    Inputs and the rules that all ranking metrics share are as `ranking` says.

    Args:
        relevance: Same shape, grades; NaN or -1 where there is no judgment.
        unretrieved: Relevance of judged documents that were not retrieved.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 without a relevant document.

    Example:
        >>> bpref([[4, 3, 2, 1]], [[0, 1, float("nan"), 1]], unretrieved=[[0]]).tolist()
        [0.5]
    """
    rules = Rules(ties, tie_tolerance, relevance_level, False, document_ids, unretrieved, "keep")
    given = ranking_inputs(scores, relevance, rules)
    sides = given.relevance, given.missing
    irrelevant = sum(given.xp.sum((g >= 0) & ~given.relevant(g), axis=1) for g in sides)

    def of_ranked(ranked, number, others):
        is_relevant = given.relevant(ranked)
        above = np.cumsum((ranked >= 0) & ~is_relevant, axis=1)
        kept = _preferred(above, number[:, None], others[:, None])
        return share(np, (kept * is_relevant).sum(axis=1), number)

    def of_groups(groups, number, others):
        total, above = 0.0, 0
        for grades in groups:
            relevant = given.relevant(grades)
            among = int(((grades >= 0) & ~relevant).sum())
            # Each number of them is as likely to stand above one relevant document.
            preferred = _preferred(above + np.arange(among + 1), number, others).mean()
            total, above = total + relevant.sum() * preferred, above + among
        return total / max(number, 1)

    return of_ranks(given, of_ranked, of_groups, irrelevant)


def _preferred(above, number, others):
    """The share of irrelevant documents that stand below, of those that count."""
    return 1.0 - np.minimum(above, number) / np.maximum(np.minimum(number, others), 1)


def inferred_average_precision(
    scores: Values,
    relevance: Values,
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    document_ids: Values | None = None,
) -> Array:
    """Inferred average precision (infAP), where only a sample of the pool was judged.

    Yilmaz and Aslam, "Estimating Average Precision with Incomplete and Imperfect Judgments", CIKM
    2006, in the form of trec_eval: the precision above a relevant document is that of the judged
    ones there, times the share of documents of the pool (judged or -1). Others, NaN, are not
    relevant. Without -1 and NaN it is the average precision, but for a share of about 1e-5.

    Inputs and the rules that all ranking metrics share are as `ranking` says.

    Args:
        relevance: Same shape, grades; -1 for a document of the pool that was not judged, NaN for
            one outside the pool.
        unretrieved: Relevance of judged documents that were not retrieved.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 without a relevant document.

    Example:
        >>> inferred_average_precision([[4, 3, 2, 1]], [[1, -1, 0, 1]]).round(4).tolist()
        [0.8125]
    """
    rules = Rules(ties, tie_tolerance, relevance_level, False, document_ids, unretrieved, "keep")
    given = ranking_inputs(scores, relevance, rules)

    def kinds(grades):
        """Which documents are relevant, judged irrelevant, of the pool without a judgment."""
        relevant = given.relevant(grades)
        return relevant, (grades >= 0) & ~relevant, grades == -1

    def of_ranked(ranked, number):
        above = [np.cumsum(kind, axis=1) - kind for kind in kinds(ranked)]
        value = _inferred(np.arange(ranked.shape[1]), above[0], above[1], sum(above))
        return share(np, (value * given.relevant(ranked)).sum(axis=1), number)

    def of_groups(groups, number):
        total, ahead, before = 0.0, 0, np.zeros(3)
        for grades in groups:
            counts = np.array([kind.sum() for kind in kinds(grades)])
            if counts[0]:
                total += counts[0] * _inferred_in_tie(len(grades), counts, ahead, before)
            ahead, before = ahead + len(grades), before + counts
        return total / max(number, 1)

    return of_ranks(given, of_ranked, of_groups)


def _inferred(above, relevant, irrelevant, pool):
    """The inferred precision at a relevant document, from how many documents stand above it.

    Among those are relevant ones, judged irrelevant ones, and of the pool, judged or not.
    """
    precision = (relevant + _EPSILON) / (relevant + irrelevant + 2 * _EPSILON)
    return (1.0 + pool * precision) / (above + 1.0)


def _inferred_in_tie(size, own, ahead, before):
    """The expected inferred precision at a relevant document of a tie.

    Of the places in the tie each is as likely, and what stands before it there is a sample of the
    others without replacement.

    Args:
        size: Documents in the tie.
        own: How many of them are relevant, judged irrelevant, and of the pool without a judgment.
        ahead: Documents before the tie.
        before: How many of these are what `own` tells.
    """
    relevant, irrelevant = np.arange(own[0])[:, None], np.arange(own[1] + 1)[None, :]
    rest = size - own[0] - own[1]
    ways = _log_choices(own[0] - 1, relevant) + _log_choices(own[1], irrelevant)
    total = 0.0
    for place in range(size):
        left = place - relevant - irrelevant
        chance = np.exp(ways + _log_choices(rest, left) - _log_choices(size - 1, place))
        # Of the rest before it, this share is of the pool.
        pool = before.sum() + relevant + irrelevant + left * (own[2] / max(rest, 1))
        precision = _inferred(ahead + place, before[0] + relevant, before[1] + irrelevant, pool)
        total += (chance * precision).sum()
    return total / size


def _log_choices(number, taken):
    """The logarithm of in how many ways some of a number can be taken; -inf where in none."""
    from scipy.special import gammaln

    some = (taken >= 0) & (taken <= number)
    taken = np.where(some, taken, 0)
    ways = gammaln(number + 1) - gammaln(taken + 1) - gammaln(number - taken + 1)
    return np.where(some, ways, -np.inf)


def judged_at_k(
    scores: Values,
    relevance: Values,
    k: int = 10,
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    document_ids: Values | None = None,
) -> Array:
    """The share of judged documents among the first k, of fewer where fewer were retrieved.

    As Judged@k of ir_measures. Where it is low, an unjudged document that counts as not relevant
    decides the other metrics.

    Inputs and the rules that all ranking metrics share are as `ranking` says.

    Args:
        relevance: Same shape, grades; NaN or -1 where there is no judgment.
        k: The cut-off; None takes all documents.
        ties: How equal scores are ordered, see `ranking`; "optimistic" puts judged ones first.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 where nothing was retrieved.

    Example:
        >>> judged_at_k([[3, 2, 1]], [[1, float("nan"), 0]], k=2).tolist()
        [0.5]
    """
    k = None if k is None else require_int("k", k)
    rules = Rules(ties, tie_tolerance, None, False, document_ids, unjudged="keep")
    given = ranking_inputs(scores, relevance, rules)
    xp, columns = given.xp, given.scores.shape[1]
    sizes = np.full(given.scores.shape[0], columns) if given.sizes is None else given.sizes
    top = np.minimum(sizes, min(k or columns, columns))
    top = xp.asarray(top, device=array_api_compat.device(given.scores))
    judged = relevant_in_top(given, xp.clip(top, 1, columns), lambda grades: grades >= 0)
    return share(xp, judged, top)
