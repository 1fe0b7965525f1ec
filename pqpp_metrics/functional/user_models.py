"""Ranking metrics with a model of the user, who goes down the ranking and stops somewhere.

Inputs and the rules that all ranking metrics share are those of `ranking`.
"""

from __future__ import annotations

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import require_between, require_int
from pqpp_metrics.functional._rankings.gain_order import gains_by_rank
from pqpp_metrics.functional._rankings.groups import of_ranks
from pqpp_metrics.functional._rankings.inputs import Rules, ranking_inputs
from pqpp_metrics.functional._types import Array, Values

_LARGEST_GRADE = 50


def expected_reciprocal_rank(
    scores: Values,
    relevance: Values,
    k: int | None = None,
    max_grade: int = 4,
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Expected reciprocal rank (ERR): 1 / the rank at which a user is satisfied.

    Chapelle, Metzler, Zhang and Grinspan, "Expected Reciprocal Rank for Graded Relevance", CIKM
    2009: a document of grade g satisfies with probability (2 ** g - 1) / 2 ** max_grade, and the
    user goes on otherwise; as TREC's gdeval with its grades up to 4. Documents without a judgment
    satisfy nobody; a query without a relevant document scores 0.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Grades from 0 to `max_grade`, same shape.
        k: Only the first k ranks count. None (default) counts all.
        max_grade: The highest grade that there can be, up to 50: not only of these documents.
        ties: How equal scores are ordered, see `ranking`; "optimistic" puts higher grades first.
        tie_tolerance: Which scores are equal, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,), each in [0, 1).

    Example:
        >>> expected_reciprocal_rank([[3, 2, 1]], [[0, 4, 1]], max_grade=4).round(4).tolist()
        [0.4701]
    """
    k = None if k is None else require_int("k", k)
    max_grade = require_int("max_grade", max_grade)
    rules = Rules(ties, tie_tolerance, None, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules)
    highest = float(given.xp.max(given.xp.astype(given.relevance, given.xp.float64)))
    if max_grade > _LARGEST_GRADE or highest > max_grade:
        raise MetricInputError(
            f"`relevance` goes up to {highest:g} and `max_grade` is {max_grade}; grades go up to "
            f"`max_grade`, which is {_LARGEST_GRADE} at most"
        )
    k = min(k or given.scores.shape[1], given.scores.shape[1])
    return of_ranks(
        given,
        given.relevance,
        lambda ranked: _satisfied(_chance(ranked, max_grade), k),
        lambda groups: _satisfied_in_groups([_chance(one, max_grade) for one in groups], k),
    )


def _chance(grades, max_grade):
    """The probability that a document satisfies."""
    return (2.0**grades - 1.0) / 2.0**max_grade


def _satisfied(chances, k):
    """Expected 1 / rank, of chances (queries, documents) by rank."""
    chances = chances[:, :k]
    reached = np.cumprod(1.0 - chances, axis=1)
    reached = np.concatenate([np.ones_like(reached[:, :1]), reached[:, :-1]], axis=1)
    return (reached * chances) @ (1.0 / np.arange(1, chances.shape[1] + 1))


def _satisfied_in_groups(groups, k):
    """The mean of the same over all orders within groups of equals, of one query."""
    value, reached, ahead = 0.0, 1.0, 0
    for chances in groups:
        # on[j]: the chance to pass j of the group's documents, mean over which j they are.
        on = np.zeros(len(chances) + 1)
        on[0] = 1.0
        for number, chance in enumerate(chances, start=1):
            j = np.arange(1, number + 1)
            on[1 : number + 1] = (
                on[1 : number + 1] * (number - j) + on[:number] * (1.0 - chance) * j
            ) / number
        ranks = ahead + np.arange(1, len(chances) + 1)
        value += reached * ((on[:-1] - on[1:]) / ranks)[ranks <= k].sum()
        reached, ahead = reached * on[-1], ahead + len(chances)
    return value


def rank_biased_precision(
    scores: Values,
    relevance: Values,
    p: float = 0.8,
    k: int | None = None,
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Rank-biased precision (RBP): relevant documents seen by a user who goes on with chance p.

    Moffat and Zobel, "Rank-Biased Precision for Measurement of Retrieval Effectiveness", ACM TOIS
    27, 2008: (1 - p) times the sum of p ** (rank - 1) over relevant documents. Documents without a
    judgment are not relevant: what they could add is not told.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see `relevance_level`.
        p: Persistence, between 0 and 1: .5 is an impatient user, .95 a patient one.
        k: Only the first k ranks count. None (default) counts all.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,), each in [0, 1).

    Example:
        >>> rank_biased_precision([[3, 2, 1]], [[1, 0, 1]], p=0.5).tolist()
        [0.625]
    """
    p = require_between("p", p, 0, 1)
    k = None if k is None else require_int("k", k)
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules)
    xp = given.xp
    device = {"device": array_api_compat.device(given.scores)}
    places = xp.arange(given.scores.shape[1], dtype=xp.float64, **device)
    weight = (1.0 - p) * p**places
    if k is not None:
        weight = xp.where(places < min(k, 2**53), weight, 0.0)

    def of_scores(part):
        relevant = xp.astype(part.marks, xp.float64)
        ranked = gains_by_rank(xp, part.scores, relevant, part.ties)
        return xp.vecdot(ranked, weight[None, :])

    def of_order(part):
        return part.relevant(part.packed.ordered).astype(np.float64) @ weight

    return given.by_blocks(lambda block: block.in_order(of_order, of_scores))
