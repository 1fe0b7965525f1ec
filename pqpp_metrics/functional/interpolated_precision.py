"""Interpolated precision at a level of recall: a point of the recall-precision curve."""

from __future__ import annotations

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import brief
from pqpp_metrics.functional._rankings.groups import of_ranks
from pqpp_metrics.functional._rankings.inputs import Rules, ranking_inputs
from pqpp_metrics.functional._types import Array, Values


def interpolated_precision(
    scores: Values,
    relevance: Values,
    recall: float = 0.1,
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Interpolated precision at recall: the best precision at any rank with at least that recall.

    Buckley and Voorhees, "Retrieval System Evaluation", 2005; "iprec_at_recall" of trec_eval 9 and
    pytrec_eval, by which a recall r is reached with floor(r * R + 0.9) of the R relevant documents
    (trec_eval 10 rounds). Documents without a judgment are not relevant.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see `relevance_level`.
        recall: The level, from 0 to 1.
        ties: How equal scores are ordered, see `ranking`. The expected value takes time that grows
            fast with large ties.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 where the recall is not reached, or there is no
        relevant document.

    Example:
        >>> interpolated_precision([[4, 3, 2, 1]], [[0, 1, 1, 0]], recall=0.1).round(4).tolist()
        [0.6667]
    """
    if isinstance(recall, bool) or not isinstance(recall, (int, float)) or not 0 <= recall <= 1:
        raise MetricInputError(f"`recall` is {brief(recall)}; it must be a number from 0 to 1")
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules, unretrieved)

    def of_ranked(ranked, number):
        relevant = given.relevant(ranked)
        found = np.cumsum(relevant, axis=1)
        reached = relevant & (found >= _needed(recall, number)[:, None])
        return np.where(reached, found / np.arange(1, ranked.shape[1] + 1), 0.0).max(axis=1)

    def of_groups(groups, number):
        counts = [(len(grades), int(given.relevant(grades).sum())) for grades in groups]
        return _expected_best(counts, _needed(recall, number))

    priority = given.marks
    return of_ranks(given, priority, of_ranked, of_groups, given.number_relevant)


def _needed(recall, number):
    """How many relevant documents reach the recall, as trec_eval 9 counts them."""
    return np.floor(recall * number + 0.9)


def _expected_best(counts, needed):
    """The expected best precision over all orders of equals, of one query.

    The groups are ordered independently, so that the chance of no precision above a bound is a
    product; the precisions that can occur are the bounds.

    Args:
        counts: Documents, and relevant ones among them, of each group of equals by rank.
        needed: The first relevant document that counts.
    """
    some, ahead, found = [], 0, 0
    for size, relevant in counts:
        if found + relevant >= needed and relevant:
            some.append((size, relevant, ahead, found))
        ahead, found = ahead + size, found + relevant
    if not some:
        return 0.0
    bounds = np.unique(np.concatenate([_precisions(*group, needed) for group in some]))
    chance = np.ones_like(bounds)
    for group in some:
        chance *= _chance_of_none_above(bounds, *group, needed)
    return float(bounds @ np.diff(chance, prepend=0.0))


def _precisions(size, relevant, ahead, found, needed):
    """The precisions that can occur at the relevant documents of a group."""
    number = np.arange(1, relevant + 1)[:, None]
    place = np.arange(1, size + 1)[None, :]
    possible = (place >= number) & (size - place >= relevant - number) & (found + number >= needed)
    return ((found + number) / (ahead + place))[possible]


def _chance_of_none_above(bounds, size, relevant, ahead, found, needed):
    """For each bound, the chance that no precision at the group's relevant documents is above."""
    chance = np.zeros((len(bounds), relevant + 1))
    chance[:, 0] = 1.0
    number = np.arange(relevant + 1)
    for place in range(1, size + 1):
        # With so many relevant documents placed, the chance that the next place gets one.
        here = np.clip((relevant - number) / (size - place + 1), 0.0, 1.0)
        allowed = (found + number + 1 < needed) | (
            (found + number + 1) / (ahead + place) <= bounds[:, None]
        )
        with_one = chance * here * allowed
        chance = chance * (1.0 - here)
        chance[:, 1:] += with_one[:, :-1]
    return chance[:, relevant]
