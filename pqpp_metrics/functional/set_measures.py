"""How good a retrieved set is, without an order: one value for each query.

Every document that has a score is retrieved, whatever the score; relevant documents that were not
are given as `unretrieved`. With `judged_only` those whose relevance is NaN or -1, for they were
never judged, are left out.
"""

from __future__ import annotations

import numpy as np

from pqpp_metrics.functional._containers import Array, Values
from pqpp_metrics.functional._inputs import require_between
from pqpp_metrics.functional._rankings.inputs import RankingInputs, Rules, ranking_inputs
from pqpp_metrics.functional._rankings.order import count, share


def set_precision(
    scores: Values,
    relevance: Values,
    relevance_level: float | None = None,
    judged_only: bool = False,
) -> Array:
    """Precision of the retrieved set: the share of relevant documents among all retrieved.

    trec_eval's set_P, SetP of ir_measures; van Rijsbergen, "Information Retrieval", 2nd edition,
    1979, chapter 7.

    Inputs and the rules that all ranking metrics share are as `ranking` says.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 where nothing was retrieved.

    Example:
        >>> set_precision([[0.9, 0.5, 0.1], [3, 2, 1]], [[1, 1, 0], [0, 0, 1]]).round(4).tolist()
        [0.6667, 0.3333]
    """
    given = _given(scores, relevance, relevance_level, judged_only)
    return share(given.xp, _hits(given), _retrieved(given))


def set_recall(
    scores: Values,
    relevance: Values,
    relevance_level: float | None = None,
    judged_only: bool = False,
    unretrieved: Values | None = None,
) -> Array:
    """Recall of the retrieved set: the share of a query's relevant documents that were retrieved.

    trec_eval's set_recall, SetR of ir_measures; van Rijsbergen 1979, chapter 7.

    Inputs and the rules that all ranking metrics share are as `ranking` says.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 where no document is relevant.

    Example:
        >>> set_recall([[3, 2, 1]], [[1, 0, 1]], unretrieved=[[1, 1]]).tolist()
        [0.5]
    """
    given = _given(scores, relevance, relevance_level, judged_only, unretrieved)
    return share(given.xp, _hits(given), given.number_relevant)


def set_f(
    scores: Values,
    relevance: Values,
    beta: float = 1.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    unretrieved: Values | None = None,
) -> Array:
    """F of the retrieved set: the weighted harmonic mean of its precision and recall.

    (1 + beta^2) P R / (beta^2 P + R), van Rijsbergen 1979, chapter 7; with beta = 1 trec_eval's
    set_F and SetF of ir_measures, whose parameter is the square of beta.

    Inputs and the rules that all ranking metrics share are as `ranking` says.

    Args:
        beta: How much recall weighs beside precision, above 0; 2 weighs it more.

    Returns:
        float64 array (queries,), each in [0, 1]; 0 where no relevant document was retrieved.

    Example:
        >>> set_f([[3, 2, 1]], [[1, 0, 1]], unretrieved=[[1, 1]]).round(4).tolist()
        [0.5714]
    """
    weight = require_between("beta", beta, 0, 1e150) ** 2
    given = _given(scores, relevance, relevance_level, judged_only, unretrieved)
    # Of the counts: nothing is 0 by 0 but a query without retrieved and relevant documents.
    divisor = weight * given.number_relevant + _retrieved(given)
    return share(given.xp, (1 + weight) * _hits(given), divisor)


def _given(scores, relevance, relevance_level, judged_only, unretrieved=None) -> RankingInputs:
    rules = Rules(
        relevance_level=relevance_level,
        judged_only=judged_only,
        unretrieved=unretrieved,
        unjudged="keep" if np.array_equal(judged_only, True) else "refuse",
    )
    return ranking_inputs(scores, relevance, rules)


def _hits(given):
    """How many retrieved documents are relevant, of each query."""
    return given.xp.astype(count(given.xp, given.relevant(given.relevance)), given.xp.float64)


def _retrieved(given):
    """How many documents were retrieved, of each query; judged ones only where it is asked."""
    known = given.relevance == given.relevance
    if given.judged_only:
        return count(given.xp, known)
    if given.sizes is None:
        return given.xp.sum(given.xp.ones_like(known, dtype=given.xp.int64), axis=1)
    return given.xp.asarray(given.sizes)
