"""Ranking metrics that weight every rank: nDCG and average precision.

Inputs and rules are those of `ranking`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import Array, Values
from pqpp_metrics.functional._inputs import not_allowed_error, require_choice, require_int, to_numpy
from pqpp_metrics.functional._rankings import order
from pqpp_metrics.functional._rankings.inputs import (
    GradedRules,
    RankingRules,
    Rules,
    convert_rankings,
)
from pqpp_metrics.functional._rankings.ranked import get_mean_gains, get_ranked_gains

_MAX_EXPONENT = 1000


def ndcg(
    *,
    scores: Values,
    relevance: Values,
    k: int | None = None,
    gains: str | Mapping[float, float] = "linear",
    **rules: Unpack[GradedRules],
) -> Array:
    """Return nDCG: the sum of gain / log2(rank + 1), divided by that of the ideal ranking.

    Järvelin and Kekäläinen, "Cumulated Gain-based Evaluation of IR Techniques", ACM TOIS 2002;
    ConQA (Rodriguez et al., ECIR 2024), section 5.

    Inputs and rules are those of `ranking`.

    Args:
        relevance: Grades, same shape, 0 or above.
        k: Only the first k ranks count, also of the ideal ranking. None (default): all ranks count.
        gains: A document's gain from its grade: "linear" (default, as in trec_eval): the grade;
            "exponential": 2 ** grade - 1 (Burges et al., ICML 2005); or a mapping of grades to
            gains, 0 or above, such as {1: 1, 2: 3}. As in trec_eval, the gain of a grade that is
            not in the mapping is the grade.
        unretrieved: Relevance of documents that were not retrieved, see `ranking`; they are part
            of the ideal ranking.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> ndcg(scores=[[0.9, 0.8, 0.7]], relevance=[[0, 2, 1]]).round(4).tolist()
        [0.6697]
    """
    k = None if k is None else require_int("k", k)
    inputs = convert_rankings(scores, relevance, Rules(**rules, relevance_level=None))
    xp = inputs.xp
    if isinstance(gains, Mapping):
        try:  # padding is not relevant
            by_grade = {0.0: 0.0} | {float(grade): float(gain) for grade, gain in gains.items()}
        except (OverflowError, TypeError, ValueError):
            raise not_allowed_error("gains", gains, "must map grades to gains") from None
        if by_grade[0.0] or not all(0 <= gain < np.inf for gain in by_grade.values()):
            raise not_allowed_error("gains", gains, "must be 0 or more, and 0 for grade 0")
        gained = []
        for grades in (inputs.relevance, inputs.missing):
            # A grade that is not in the mapping is its own gain.
            distinct, codes = np.unique(to_numpy(grades), return_inverse=True)
            values = np.array([by_grade.get(grade, float(grade)) for grade in distinct.tolist()])
            values = values[codes.reshape(grades.shape)]
            gained.append(xp.asarray(values, device=array_api_compat.device(grades)))
        inputs = replace(inputs, relevance=gained[0], missing=gained[1])
    else:
        require_choice("gains", gains, ("linear", "exponential"))
    exponential = gains == "exponential"
    grades = inputs.relevance
    if inputs.missing.shape[1]:
        parts = [xp.astype(part, xp.float64) for part in (inputs.relevance, inputs.missing)]
        grades = xp.concat(parts, axis=1)
    if exponential and (highest := float(xp.max(grades))) > _MAX_EXPONENT:
        fault = f"`relevance` contains {highest:g}, which is too large for exponential gains"
        raise MetricInputError(f"{fault}; use smaller grades or gains='linear'")

    def get_gain(grades):
        return 2.0 ** xp.astype(grades, xp.float64) - 1.0 if exponential else grades

    ranks = _get_ranks(inputs, inputs.scores.shape[1] + inputs.missing.shape[1])
    discount = xp.where(ranks <= min(k or 2**53, 2**53), 1.0 / xp.log2(ranks + 1.0), 0.0)
    ranked = get_mean_gains(inputs, get_gain)
    gained = order.sum_weighted_rows(xp, ranked, discount[: ranked.shape[1]])
    ideal = xp.astype(get_gain(xp.flip(xp.sort(grades, axis=1, stable=False), axis=1)), xp.float64)
    values = order.divide(xp, gained, order.sum_weighted_rows(xp, ideal, discount))
    # Rounding may lift a perfect ranking over 1 in the last digit.
    return xp.clip(values, 0.0, 1.0)


def _get_ranks(inputs, number):
    """Return the ranks 1, 2, 3, ... as float64, on the device of the scores."""
    device = array_api_compat.device(inputs.scores)
    return inputs.xp.arange(number, dtype=inputs.xp.float64, device=device) + 1.0


def average_precision(
    *, scores: Values, relevance: Values, k: int | None = None, **rules: Unpack[RankingRules]
) -> Array:
    """Return average precision: the mean over relevant documents of the precision at their rank.

    Buckley and Voorhees, "Retrieval System Evaluation", 2005; this is "map" of trec_eval. Its
    expected value under ties is that of McSherry and Najork 2008.

    Inputs and rules are those of `ranking`.

    Args:
        k: Only the first k ranks count; the divisor stays the number of relevant documents, as in
            "map_cut" of trec_eval. None (default): all ranks count.

    Returns:
        float64 array (queries,), each in [0, 1].

    Example:
        >>> average_precision(scores=[[0.9, 0.8, 0.7]], relevance=[[1, 0, 1]]).round(4).tolist()
        [0.8333]
    """
    k = None if k is None else require_int("k", k)
    inputs = convert_rankings(scores, relevance, Rules(**rules))
    xp, ranks = inputs.xp, _get_ranks(inputs, inputs.scores.shape[1])
    # At each rank, the expected number of relevant documents up to it if it has one, else 0. In a
    # tie of n documents, r of them relevant, a rank has a relevant one with probability r / n; the
    # other r - 1 are then spread evenly over the other n - 1 ranks.
    ranked, tied = get_ranked_gains(inputs, inputs.relevant)
    precisions = ranked * xp.cumulative_sum(ranked, axis=1)
    if tied is not None:
        size = xp.astype(tied.size, xp.float64)
        ranks_before = ranks[None, :] - 1.0 - xp.astype(tied.start, xp.float64)
        others = (tied.gain - 1.0) / xp.clip(size - 1.0, 1.0, None)
        precisions[tied.rows, :] = (
            tied.gain / size * (tied.gain_before + ranks_before * others + 1.0)
        )
    weight = 1.0 / ranks if k is None else xp.where(ranks <= k, 1.0 / ranks, 0.0)
    summed = order.sum_weighted_rows(xp, precisions, weight)
    return xp.clip(order.divide(xp, summed, inputs.number_relevant), 0.0, 1.0)
