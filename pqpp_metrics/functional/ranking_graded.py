"""Ranking metrics that weigh every rank: nDCG and average precision.

Inputs and the rule `ties` are those of `ranking`.
"""

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._gain_order import (
    LARGEST_PACKED,
    gains_by_rank,
    packed_grades,
    ranked_groups,
)
from pqpp_metrics.functional._inputs import require_choice, require_int
from pqpp_metrics.functional._ranked import (
    TIES,
    by_blocks,
    count,
    is_relevant,
    ranking_inputs,
    unretrieved_grades,
)

_GAINS = ("linear", "exponential")
_LARGEST_EXACT = 2.0**53
_LARGEST_EXPONENT = 1000


def ndcg(
    scores,
    relevance,
    k=None,
    gains="linear",
    ties="expected",
    unretrieved=None,
    tie_tolerance=0.0,
):
    """Normalized discounted cumulative gain: gains discounted by log2(rank + 1), over the best.

    Järvelin and Kekäläinen, "Cumulated Gain-based Evaluation of IR Techniques", ACM TOIS 2002;
    ConQA (Rodriguez et al., ECIR 2024), section 5.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Grades, same shape, 0 or above.
        k: Only the first k ranks count, of the ideal ranking too. None (default) counts all.
        gains: A document's gain from its grade: "linear" (default, as in trec_eval) the grade
            itself, "exponential" 2 ** grade - 1 (Burges et al., ICML 2005).
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`; here they
            belong to the ideal ranking.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> ndcg([[0.9, 0.8, 0.7]], [[0, 2, 1]]).round(4).tolist()
        [0.6697]
    """
    require_choice("ties", ties, TIES)
    require_choice("gains", gains, _GAINS)
    k = None if k is None else require_int("k", k)
    xp, scores, relevance = ranking_inputs(scores, relevance, tie_tolerance)
    missing = unretrieved_grades(xp, unretrieved, relevance)
    if gains == "exponential":
        _refuse_huge_grades(xp, relevance, missing)
    ranks = _ranks(xp, scores, scores.shape[1] + missing.shape[1])
    discount = 1.0 / xp.log2(ranks + 1.0)
    if k is not None:
        discount = xp.where(ranks <= min(k, 2**53), discount, 0.0)
    kernel = _ndcg
    if array_api_compat.is_numpy_namespace(xp) and scores.dtype.itemsize <= 8:
        scores = scores.astype(np.float64, copy=False)
        relevance, missing = _as_integers(relevance), _as_integers(missing)
        if relevance.dtype.kind != "f" and missing.dtype.kind != "f":
            kernel = _packed_ndcg

    def of_block(scores, relevance, missing):
        return kernel(xp, scores, relevance, missing, discount, gains, ties)

    # Rounding may lift a perfect ranking over 1 in the last digit.
    return xp.clip(by_blocks(of_block, xp, scores, relevance, missing), 0.0, 1.0)


def _refuse_huge_grades(xp, *grades):
    """Raise for grades whose exponential gains cannot be summed."""
    highest = max(float(xp.max(xp.astype(part, xp.float64))) for part in grades if part.shape[1])
    if highest > _LARGEST_EXPONENT:
        raise MetricInputError(
            f"`relevance` holds {highest:g}, and 2 to the power of it is no number any more; "
            "use gains='linear' or smaller grades"
        )


def _as_integers(grades):
    """Numpy grades as integers, if they are whole numbers of a size that integers hold."""
    if grades.dtype.kind != "f" or (grades.size and float(grades.max()) > _LARGEST_EXACT):
        return grades
    whole = grades.astype(np.int64)
    return whole if (whole == grades).all() else grades


def _ndcg(xp, scores, relevance, missing, discount, gains, ties):
    value = _gain(xp, xp.astype(relevance, xp.float64), gains)
    ranked = gains_by_rank(xp, scores, value, ties)
    if missing.shape[1]:
        value = xp.concat([value, _gain(xp, xp.astype(missing, xp.float64), gains)], axis=1)
    ideal = xp.flip(xp.sort(value, axis=1, stable=False), axis=1)
    found = xp.vecdot(ranked, discount[None, : ranked.shape[1]])
    return _ratio(xp, found, xp.vecdot(ideal, discount[None, :]))


def _ranks(xp, scores, number):
    """Ranks 1, 2, 3, ... as float64, on the device of the scores."""
    device = array_api_compat.device(scores)
    return xp.arange(number, dtype=xp.float64, device=device) + 1.0


def _packed_ndcg(xp, scores, grades, missing, discount, gains, ties):
    """As `_ndcg` for small integer grades in numpy, by one sort; ties go the other way."""
    packed = packed_grades(scores, grades)
    highest = max(int(grades.max()), int(missing.max()) if missing.size else 0)
    if packed is None or highest > LARGEST_PACKED:
        return _ndcg(xp, scores, grades, missing, discount, gains, ties)
    ordered, unclear = packed
    value = _gain(xp, ordered.astype(np.float64), gains)
    found = np.einsum("ij,j->i", value, discount[: scores.shape[1]][::-1])
    reached = np.concatenate([[0.0], np.cumsum(discount)])
    best, lower = np.zeros(len(scores)), 0.0
    for grade in range(1, highest + 1):
        # The ideal ranking has this many documents of at least the grade at its top.
        number = count(xp, grades >= grade) + count(xp, missing >= grade)
        upper = float(_gain(xp, np.float64(grade), gains))
        best += (upper - lower) * reached[number]
        lower = upper
    values = _ratio(xp, found, best)
    if len(unclear):
        rows = scores[unclear], grades[unclear], missing[unclear]
        values[unclear] = _ndcg(xp, *rows, discount, gains, ties)
    return values


def _gain(xp, grades, gains):
    return grades if gains == "linear" else 2.0**grades - 1.0


def _ratio(xp, found, best):
    """Found of the best possible, 0 where nothing can be found."""
    some = best > 0
    return xp.where(some, found / xp.where(some, best, 1.0), 0.0)


def average_precision(
    scores, relevance, k=None, ties="expected", unretrieved=None, tie_tolerance=0.0
):
    """Average precision: the mean over relevant documents of the precision at their rank.

    Buckley and Voorhees, "Retrieval System Evaluation", 2005; as "map" of trec_eval. Its
    expected value under ties is that of McSherry and Najork 2008.

    Args:
        scores: Shape (queries, documents), higher is ranked first.
        relevance: Same shape; a document is relevant where it is above 0.
        k: Only the first k ranks count; the divisor stays the number of relevant documents, as
            "map_cut" of trec_eval. None (default) counts all.
        ties: How equal scores are ordered, see `ranking`.
        tie_tolerance: Which scores are equal, see `ranking`.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> average_precision([[0.9, 0.8, 0.7]], [[1, 0, 1]]).round(4).tolist()
        [0.8333]
    """
    require_choice("ties", ties, TIES)
    k = None if k is None else require_int("k", k)
    xp, scores, relevance = ranking_inputs(scores, relevance, tie_tolerance)
    ranks = _ranks(xp, scores, scores.shape[1])
    weight = 1.0 / ranks if k is None else xp.where(ranks <= k, 1.0 / ranks, 0.0)

    missing = unretrieved_grades(xp, unretrieved, relevance)
    kernel = _precisions
    if array_api_compat.is_numpy_namespace(xp) and scores.dtype.itemsize <= 8:
        scores, kernel = scores.astype(np.float64, copy=False), _packed_precisions

    def of_block(scores, relevance, missing):
        relevant = is_relevant(xp, relevance)
        found = kernel(xp, scores, relevant, ranks, ties)
        number = count(xp, relevant) + count(xp, is_relevant(xp, missing))
        return _ratio(xp, xp.vecdot(found, weight[None, :]), xp.astype(number, xp.float64))

    return xp.clip(by_blocks(of_block, xp, scores, relevance, missing), 0.0, 1.0)


def _packed_precisions(xp, scores, relevant, ranks, ties):
    """As `_precisions` in numpy, by one sort; queries with ties go the other way."""
    ordered, unclear = packed_grades(scores, relevant)
    ranked = ordered[:, ::-1].astype(np.float64)
    found = ranked * np.cumsum(ranked, axis=1)
    if len(unclear):
        found[unclear] = _precisions(xp, scores[unclear], relevant[unclear], ranks, ties)
    return found


def _precisions(xp, scores, relevant, ranks, ties):
    """At each rank the number of relevant documents up to it, if it holds one, else 0."""
    relevant = xp.astype(relevant, xp.float64)
    if ties == "expected":
        return _expected_precisions(xp, scores, relevant, ranks)
    ranked = gains_by_rank(xp, scores, relevant, ties)
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
