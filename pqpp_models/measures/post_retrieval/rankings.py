"""Post-retrieval predictors that compare two result lists of one query.

`PredictorError` is raised where lists are not of whole numbers, differ in their queries, or name a
document twice.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.measures.post_retrieval.arrays import Scores, depth

Ids = NDArray[np.int64]


def query_drift(results: ArrayLike, perturbed: ArrayLike, k: int = 100) -> Scores:
    """How much of the top of a result list survives a perturbation of the query.

    The intersection of the two top-k sets over their union (Jaccard). 1.0 means no drift: higher
    speaks for the query.

    Args:
        results: numbers of the documents, best first, shape ``(queries, documents)``; -1 where a
            list has ended.
        perturbed: the same for the perturbed query (noise on its embedding, say); it may be of
            another width.
        k: how many documents from the top; 100 in the code of the PQPP paper's authors.

    Returns:
        Shape ``(queries,)``, from 0 to 1; 0.0 where one list is empty, NaN where both are.

    Source: the public repository of the PQPP paper's authors (there called query drift); the idea
    of robustness to perturbation is of Zhou and Croft, "Ranking robustness", CIKM 2006.

    >>> query_drift([[1, 2, 3, 4]], [[2, 1, 9, 8]], k=3).tolist()
    [0.5]
    """
    top = depth(k)

    def kept(first: Ids, second: Ids) -> float:
        common = len(np.intersect1d(first[:top], second[:top], assume_unique=True))
        return common / (len(first[:top]) + len(second[:top]) - common)

    return _of_pairs(results, perturbed, kept)


def rank_biased_overlap(results: ArrayLike, other: ArrayLike, p: float = 0.9) -> Scores:
    """Extrapolated rank-biased overlap of two lists of each query, 1.0 for equal ones.

    ``A_k p^k + (1 - p) / p * sum over d = 1..k of A_d p^d``, where A_d is the share of the first d
    documents that both lists have, and k the length of the shorter list.

    Args:
        results: numbers of the documents, best first, shape ``(queries, documents)``; -1 where a
            list has ended.
        other: the same.
        p: persistence, above 0 and below 1: the higher, the deeper the comparison looks.

    Returns:
        Shape ``(queries,)``, from 0 to 1; 0.0 where one list is empty, NaN where both are.

    Source: Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS
    28(4), 2010, equation 30; lists of two lengths are cut to the shorter one.

    >>> rank_biased_overlap([[1, 2]], [[2, 1]], p=0.5).tolist()
    [0.5]
    """
    if not 0 < p < 1:
        raise PredictorError(f"`p` is {p!r}; it must be above 0 and below 1")
    return _of_pairs(results, other, lambda left, right: _overlap(left, right, p))


def _overlap(first: Ids, second: Ids, p: float) -> float:
    k = min(len(first), len(second))
    # A document counts from the depth on at which both lists have named it.
    places = {document: rank for rank, document in enumerate(first[:k].tolist())}
    joined = np.zeros(k)
    for rank, document in enumerate(second[:k].tolist()):
        if document in places:
            joined[max(rank, places[document])] += 1
    depths = np.arange(1, k + 1)
    agreement = np.cumsum(joined) / depths
    weights = p**depths
    return float(agreement[-1] * weights[-1] + (1 - p) / p * np.sum(agreement * weights))


def _of_pairs(results: ArrayLike, other: ArrayLike, value: Callable[[Ids, Ids], float]) -> Scores:
    """Return a value of each query's two lists, 0.0 where one is empty, NaN where both are."""
    first, second = _ids(results, "results"), _ids(other, "the other results")
    if len(first) != len(second):
        raise PredictorError(
            f"there are {len(first)} lists on one side, {len(second)} on the other"
        )
    overlaps = np.full(len(first), np.nan)
    for at, pair in enumerate(zip(first, second, strict=True)):
        left, right = (_listed(ids, at) for ids in pair)
        if len(left) or len(right):
            overlaps[at] = value(left, right) if len(left) and len(right) else 0.0
    return overlaps


def _ids(values: ArrayLike, name: str) -> Ids:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or (array.size and array.dtype.kind not in "iu"):
        raise PredictorError(
            f"`{name}` is not an array of whole numbers of shape (queries, documents); number the "
            "documents from 0 on and fill short lists with -1"
        )
    return array.astype(np.int64)


def _listed(row: Ids, query: int) -> Ids:
    documents = row[row >= 0]
    if len(np.unique(documents)) != len(documents):
        raise PredictorError(f"query {query} names a document twice; drop the repetitions")
    return documents
