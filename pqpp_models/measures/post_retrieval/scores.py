"""Post-retrieval predictors that need nothing but the scores of the results.

All take scores of shape ``(queries, documents)`` in any order (equal scores are interchangeable, so
ties need no rule), padded with NaN, and return one float64 a query, NaN for an empty list. Fewer
documents than asked for are all taken. `PredictorError` is raised where an argument has a wrong
shape, is not finite or out of its range; ``k`` is how many documents from the top are looked at.

**The collection's score** S(C) is what the retrieval model gives to the whole collection as one
document. A dense retriever has no such score. Where none is given, the mean of all scores given
for the query stands for it, which says more the more of the collection was scored: give far more
documents than ``k``, or the mean itself.
"""

import numpy as np
from numpy.typing import ArrayLike

from pqpp_models.errors import PredictorError
from pqpp_models.measures.post_retrieval.arrays import (
    Scores,
    depth,
    deviation,
    mean,
    of_collection,
    one_a_query,
    over,
    ranked,
    variance,
)


def nqc(scores: ArrayLike, k: int = 100, collection_score: ArrayLike | None = None) -> Scores:
    """Normalised query commitment: the deviation of the top scores over that of the collection.

    ``sqrt(mean((s - mean(s))^2 over the top k)) / |S(C)|``, with the population deviation.

    Args:
        k: how many documents from the top; the original finds 100 good.

    Returns:
        Shape ``(queries,)``, at least 0; 0.0 where all top scores are equal, NaN where S(C) is 0
        and they are not.

    Source: Shtok, Kurland, Carmel, Raiber and Markovits, "Predicting query performance by
    query-drift estimation", ACM TOIS 30(2), 2012.

    >>> nqc([[3.0, 1.0, 0.0, 0.0]], k=2, collection_score=-2.0).tolist()
    [0.5]
    """
    lists = ranked(scores)
    return over(deviation(lists[:, : depth(k)]), np.abs(of_collection(lists, collection_score)))


def wig(
    scores: ArrayLike,
    query_length: ArrayLike,
    k: int = 5,
    collection_score: ArrayLike | None = None,
) -> Scores:
    """Weighted information gain: how far the top scores lie above that of the collection.

    ``mean(s - S(C) over the top k) / sqrt(|q|)``.

    Args:
        query_length: terms of the query, ``|q|``, one value or one a query, at least 1.
        k: how many documents from the top; the original finds 5 good.

    Source: Zhou and Croft, "Query performance prediction in web search environments", SIGIR 2007,
    in the form for plain scores of Shtok et al. 2012 (see ``nqc``).

    >>> wig([[4.0, 2.0, 0.0]], query_length=4, k=2, collection_score=1.0).tolist()
    [1.0]
    """
    lists = ranked(scores)
    lengths = one_a_query(query_length, len(lists), "query_length", least=1.0)
    gain = mean(lists[:, : depth(k)]) - of_collection(lists, collection_score)
    return gain / np.sqrt(lengths)


def smv(scores: ArrayLike, k: int = 100, collection_score: ArrayLike | None = None) -> Scores:
    """Score magnitude and variance together.

    ``mean(s |ln(s / mean(s))| over the top k) / |S(C)|``. Scores must be above 0: raise the cosine
    of a dense model to ``1 + cosine``, or take its exponential.

    Args:
        scores: shape ``(queries, documents)``, above 0 among the top k.
        k: how many documents from the top.

    Returns:
        Shape ``(queries,)``, at least 0; 0.0 where all top scores are equal.

    Source: Tao and Wu, "Query performance prediction by considering score magnitude and variance
    together", CIKM 2014.

    >>> smv([[2.0, 2.0, 1.0]], k=2).tolist()
    [0.0]
    >>> smv([[3.0, 1.0]], collection_score=1.0).round(4).tolist()
    [0.9548]
    """
    lists = ranked(scores)
    top = lists[:, : depth(k)]
    if (top <= 0).any():
        at = int(np.argwhere(top <= 0)[0, 0])
        raise PredictorError(
            f"query {at} has a score of 0 or less among its top {k}; SMV needs scores above 0, "
            "such as 1 + cosine"
        )
    magnitude = mean(top * np.abs(np.log(top / mean(top)[:, None])))
    # Equal scores leave a mean that is off by rounding: they have no variance at all.
    magnitude[deviation(top) == 0] = 0.0
    return over(magnitude, np.abs(of_collection(lists, collection_score)))


def sigma_max(scores: ArrayLike) -> Scores:
    """The largest standard deviation of any beginning of the ranked list.

    ``max over k of sqrt(mean((s - mean(s))^2 over the top k))``, k from 1 to all: needs no
    parameter, since a long tail of low scores lowers the deviation again.

    Returns:
        Shape ``(queries,)``, at least 0; 0.0 for one document or equal scores.

    Source: Pérez-Iglesias and Araujo, "Standard deviation as a query hardness estimator", SPIRE
    2010.

    >>> sigma_max([[4.0, 0.0, 0.0, 0.0]]).tolist()
    [2.0]
    """
    lists = ranked(scores)
    if lists.shape[1] == 0:
        return np.full(len(lists), np.nan)
    # Taken from the best score, so that a large common offset costs no precision.
    apart = np.where(np.isnan(lists), 0.0, lists - lists[:, :1])
    ranks = np.arange(1, lists.shape[1] + 1)
    means = np.cumsum(apart, axis=1) / ranks
    spread = np.sqrt(np.maximum(np.cumsum(apart**2, axis=1) / ranks - means**2, 0.0))
    spread[np.isnan(lists)] = -1.0
    # Equal scores are exactly 0 apart, so that their spread is exactly 0 as well.
    largest = spread.max(axis=1)
    return np.where(np.isnan(lists[:, 0]), np.nan, largest)


def n_sigma(scores: ArrayLike, query_length: ArrayLike, share: float = 0.5) -> Scores:
    """The deviation of the scores that come near the best one, by query length.

    ``sqrt(mean((s - mean(s))^2)) / sqrt(|q|)`` over the documents with at least ``share`` of the
    best score; often written n(sigma_50%).

    Args:
        scores: shape ``(queries, documents)``; the best score of each list must be above 0.
        query_length: terms of the query, ``|q|``, one value or one a query, at least 1; 1 gives the
            deviation without the normalisation.
        share: of the best score, from 0 to 1.

    Returns:
        Shape ``(queries,)``, at least 0; 0.0 where only the best document comes near.

    Source: Cummins, Jose and O'Riordan, "Improved query performance prediction using standard
    deviation", SIGIR 2011.

    >>> n_sigma([[4.0, 2.0, 1.0]], query_length=1).tolist()
    [1.0]
    """
    if not 0 <= share <= 1:
        raise PredictorError(f"`share` is {share!r}; it must be from 0 to 1")
    lists = ranked(scores)
    lengths = one_a_query(query_length, len(lists), "query_length", least=1.0)
    if (lists[:, :1] <= 0).any():
        at = int(np.argwhere(lists[:, 0] <= 0)[0, 0])
        raise PredictorError(
            f"the best score of query {at} is 0 or less; a share of it needs scores above 0, such "
            "as 1 + cosine"
        )
    near = np.where(lists >= share * lists[:, :1], lists, np.nan)
    return deviation(near) / np.sqrt(lengths)


def score_variation(scores: ArrayLike, k: int = 100) -> Scores:
    """The population variance of the top scores.

    Args:
        k: how many documents from the top; 100 in the code of the PQPP paper's authors.

    Returns:
        Shape ``(queries,)``, at least 0; 0.0 for one document or equal scores.

    Source: the public repository of the PQPP paper's authors, there called score variation.

    >>> score_variation([[3.0, 1.0, 0.0]], k=2).tolist()
    [1.0]
    """
    return variance(ranked(scores)[:, : depth(k)])
