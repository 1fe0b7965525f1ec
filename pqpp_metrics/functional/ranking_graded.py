"""Ranking metrics that weigh every rank: nDCG and average precision.

Inputs and the rule `ties` are those of `ranking`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import brief, require_choice, require_int, to_numpy
from pqpp_metrics.functional._rankings.gain_order import (
    LARGEST_PACKED,
    as_integers,
    gains_by_rank,
    ranked_groups,
)
from pqpp_metrics.functional._rankings.inputs import Rules, ranking_inputs
from pqpp_metrics.functional._rankings.ranked import count
from pqpp_metrics.functional._types import Array, Values

_GAINS = ("linear", "exponential")
_LARGEST_EXPONENT = 1000


def ndcg(
    scores: Values,
    relevance: Values,
    k: int | None = None,
    gains: str | Mapping[float, float] = "linear",
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Normalized discounted cumulative gain: gains discounted by log2(rank + 1), over the best.

    Järvelin and Kekäläinen, "Cumulated Gain-based Evaluation of IR Techniques", ACM TOIS 2002;
    ConQA (Rodriguez et al., ECIR 2024), section 5.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Grades, same shape, 0 or above.
        k: Only the first k ranks count, of the ideal ranking too. None (default) counts all.
        gains: A document's gain from its grade: "linear" (default, as in trec_eval) the grade
            itself, "exponential" 2 ** grade - 1 (Burges et al., ICML 2005); or a mapping of
            grades to gains, 0 or above, such as {1: 1, 2: 3}: as in trec_eval a grade that is not
            named gains itself, and 0 gains nothing.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`; here they
            belong to the ideal ranking.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> ndcg([[0.9, 0.8, 0.7]], [[0, 2, 1]]).round(4).tolist()
        [0.6697]
    """
    k = None if k is None else require_int("k", k)
    rules = Rules(ties, tie_tolerance, None, judged_only, document_ids)
    given, exponential = _with_gains(ranking_inputs(scores, relevance, rules, unretrieved), gains)
    xp = given.xp
    ranks = _ranks(xp, given.scores, given.scores.shape[1] + given.missing.shape[1])
    discount = 1.0 / xp.log2(ranks + 1.0)
    if k is not None:
        discount = xp.where(ranks <= min(k, 2**53), discount, 0.0)
    found = given.by_blocks(
        lambda block: block.in_order(
            lambda part: _ndcg_of_order(part, discount, exponential),
            lambda part: _ndcg(part, discount, exponential),
        )
    )
    # Rounding may lift a perfect ranking over 1 in the last digit.
    return xp.clip(found, 0.0, 1.0)


def _with_gains(given, gains):
    """The inputs with gains for grades, and whether 2 ** gain - 1 is the gain yet to be taken."""
    xp = given.xp
    if isinstance(gains, Mapping):
        of_grade = _checked_gains(gains)
        relevance, missing = (
            _mapped(xp, of_grade, grades) for grades in (given.relevance, given.missing)
        )
        return replace(given, relevance=relevance, missing=missing, is_shared=False), False
    require_choice("gains", gains, _GAINS)
    exponential = gains == "exponential"
    if exponential:
        _refuse_huge_grades(xp, given.relevance, given.missing)
    return given, exponential


def _checked_gains(gains):
    """Grade to gain as floats; 0 is added, for what fills up rows is not relevant."""
    try:
        of_grade = {0.0: 0.0} | {float(grade): float(gain) for grade, gain in gains.items()}
    except (TypeError, ValueError):
        raise MetricInputError(f"`gains` is {brief(gains)}; give a gain for each grade") from None
    wrong = [g for g in of_grade.values() if not 0 <= g < np.inf] or of_grade[0.0]
    if wrong:
        raise MetricInputError(f"`gains` is {brief(gains)}; gains are 0 or above, and 0 of grade 0")
    return of_grade


def _mapped(xp, of_grade, grades):
    """The gains of grades, in their library; a grade without one gains itself."""
    distinct, places = np.unique(to_numpy(grades), return_inverse=True)
    gained = np.array([of_grade.get(grade, float(grade)) for grade in distinct.tolist()])
    values = gained[places.reshape(grades.shape)]
    return xp.asarray(values, device=array_api_compat.device(grades))


def _refuse_huge_grades(xp, *grades):
    """Raise for grades whose exponential gains cannot be summed."""
    highest = max(float(xp.max(xp.astype(part, xp.float64))) for part in grades if part.shape[1])
    if highest > _LARGEST_EXPONENT:
        raise MetricInputError(
            f"`relevance` holds {highest:g}, and 2 to the power of it is no number any more; "
            "use gains='linear' or smaller grades"
        )


def _ndcg(given, discount, exponential):
    xp = given.xp
    value = _gain(xp.astype(given.relevance, xp.float64), exponential)
    ranked = gains_by_rank(xp, given.scores, value, given.ties)
    if given.missing.shape[1]:
        missing = _gain(xp.astype(given.missing, xp.float64), exponential)
        value = xp.concat([value, missing], axis=1)
    ideal = xp.flip(xp.sort(value, axis=1, stable=False), axis=1)
    found = xp.vecdot(ranked, discount[None, : ranked.shape[1]])
    return _ratio(xp, found, xp.vecdot(ideal, discount[None, :]))


def _ndcg_of_order(given, discount, exponential):
    """As `_ndcg` for packed grades, in numpy."""
    ordered, missing = given.packed.ordered, given.missing
    if missing.size:
        missing = as_integers(missing)
        if missing.dtype.kind == "f" or int(missing.max()) > LARGEST_PACKED:
            return _ndcg(given, discount, exponential)
    value = _gain(ordered.astype(np.float64), exponential)
    found = np.einsum("ij,j->i", value, discount[: ordered.shape[1]])
    reached = np.concatenate([[0.0], np.cumsum(discount)])
    best, lower = np.zeros(len(ordered)), 0.0
    highest = max(int(ordered.max()), int(missing.max()) if missing.size else 0)
    for grade in range(1, highest + 1):
        # The ideal ranking has this many documents of at least the grade at its top.
        number = count(np, ordered >= grade)
        if missing.size:
            number += count(np, missing >= grade)
        upper = _gain(float(grade), exponential)
        best += (upper - lower) * reached[number]
        lower = upper
    return _ratio(np, found, best)


def _ranks(xp, scores, number):
    """Ranks 1, 2, 3, ... as float64, on the device of the scores."""
    device = array_api_compat.device(scores)
    return xp.arange(number, dtype=xp.float64, device=device) + 1.0


def _gain(grades, exponential):
    return 2.0**grades - 1.0 if exponential else grades


def _ratio(xp, found, best):
    """Found of the best possible, 0 where nothing can be found."""
    some = best > 0
    return xp.where(some, found / xp.where(some, best, 1.0), 0.0)


def average_precision(
    scores: Values,
    relevance: Values,
    k: int | None = None,
    ties: str = "expected",
    unretrieved: Values | None = None,
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    document_ids: Values | None = None,
) -> Array:
    """Average precision: the mean over relevant documents of the precision at their rank.

    Buckley and Voorhees, "Retrieval System Evaluation", 2005; as "map" of trec_eval. Its
    expected value under ties is that of McSherry and Najork 2008.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0, see
            `relevance_level`.
        k: Only the first k ranks count; the divisor stays the number of relevant documents, as
            "map_cut" of trec_eval. None (default) counts all.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        relevance_level: The least grade of a relevant document, see `ranking`.
        judged_only: Whether only judged documents get a rank, see `ranking`.
        document_ids: The documents' names for "docno", in the shape of `scores`.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> average_precision([[0.9, 0.8, 0.7]], [[1, 0, 1]]).round(4).tolist()
        [0.8333]
    """
    k = None if k is None else require_int("k", k)
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only, document_ids)
    given = ranking_inputs(scores, relevance, rules, unretrieved)
    if not given.is_shared:  # any grade becomes one bit, which can be packed
        marks = given.marks, given.relevant(given.missing)
        given = replace(given, relevance=marks[0], missing=marks[1], level=None)
    xp = given.xp
    ranks = _ranks(xp, given.scores, given.scores.shape[1])
    weight = 1.0 / ranks if k is None else xp.where(ranks <= k, 1.0 / ranks, 0.0)

    def of_block(block):
        found = block.in_order(_precisions_of_order, lambda part: _precisions(part, ranks))
        number = xp.astype(block.number_relevant, xp.float64)
        return _ratio(xp, xp.vecdot(found, weight[None, :]), number)

    return xp.clip(given.by_blocks(of_block), 0.0, 1.0)


def _precisions_of_order(given):
    """As `_precisions` for packed grades, in numpy."""
    ranked = given.relevant(given.packed.ordered).astype(np.float64)
    return ranked * np.cumsum(ranked, axis=1)


def _precisions(given, ranks):
    """At each rank the number of relevant documents up to it, if it holds one, else 0."""
    xp = given.xp
    relevant = xp.astype(given.marks, xp.float64)
    if given.ties == "expected":
        return _expected_precisions(xp, given.scores, relevant, ranks)
    ranked = gains_by_rank(xp, given.scores, relevant, given.ties)
    return ranked * xp.cumulative_sum(ranked, axis=1)


def _expected_precisions(xp, scores, relevant, ranks):
    """At each rank the expected number of relevant documents up to it, if it holds one.

    In a tie of n documents, r of them relevant, a place holds a relevant one with probability
    r / n; the other r - 1 are then spread evenly over the other n - 1 places.
    """
    ranked, groups = ranked_groups(xp, scores, relevant)
    found = ranked * xp.cumulative_sum(ranked, axis=1)
    if groups is not None:
        rows, group = groups
        size = xp.astype(group.size, xp.float64)
        places_before = ranks[None, :] - 1.0 - xp.astype(group.start, xp.float64)
        others = (group.gain - 1.0) / xp.clip(size - 1.0, 1.0, None)
        up_to_here = group.gain_before + places_before * others + 1.0
        found[rows, :] = group.gain / size * up_to_here
    return found
