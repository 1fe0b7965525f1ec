"""Post-retrieval predictors of dense retrieval: the vectors of the results, and of the query.

Vectors are compared by their cosine; one of zeros has a cosine of 0 with everything. Arrays may
come from any single-vector model of texts or images. `PredictorError` is raised where an argument
has a wrong shape, is not finite or out of its range.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.measures.post_retrieval.arrays import Scores, checked, depth
from pqpp_models.measures.post_retrieval.rankings import rank_biased_overlap

Vectors = NDArray[np.float64]


def autocorrelation(
    scores: ArrayLike, embeddings: ArrayLike, k: int = 75, neighbours: int = 5
) -> Scores:
    """Spatial autocorrelation: whether documents that resemble each other score alike.

    Pearson's correlation, over the top k, of each score with the mean of its neighbours' scores,
    weighted by cosine: the ``neighbours`` most similar others of the top k with a cosine above 0.

    Args:
        scores: shape ``(queries, documents)``, padded with NaN.
        embeddings: of the same documents, shape ``(queries, documents, dimensions)``.
        k: how many documents from the top; the original takes 75.
        neighbours: how many neighbours of each; the original takes 5.

    Returns:
        Shape ``(queries,)``, from -1 to 1; 0.0 where either side is constant (equal scores, no
        similar documents, fewer than two documents), NaN for an empty list. Of documents tied at
        the last rank or as the last neighbour the first given is taken.

    Source: Diaz, "Performance prediction using spatial autocorrelation", SIGIR 2007.

    >>> vectors = [[[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]]
    >>> autocorrelation([[0.9, 0.8, 0.2, 0.1]], vectors, neighbours=1).round(2).tolist()
    [0.96]
    """
    near = depth(neighbours, "neighbours")
    return _of_tops(scores, embeddings, k, lambda values, vectors: _alike(values, vectors, near))


def coherence(scores: ArrayLike, embeddings: ArrayLike, k: int = 10) -> Scores:
    """How close together the best results lie: the mean cosine over pairs of the top k.

    Args:
        scores: shape ``(queries, documents)``, padded with NaN; of ties the first given is taken.
        embeddings: of the same documents, shape ``(queries, documents, dimensions)``.
        k: how many documents from the top.

    Returns:
        Shape ``(queries,)``, from -1 to 1; NaN for fewer than two documents.

    Source: the mean pairwise similarity that ``pair_ratio`` compares; Vlachou and Macdonald, "On
    coherence-based predictors for dense query performance prediction", 2023 (arXiv 2310.11405).

    >>> coherence([[2.0, 1.0, 0.0]], [[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]], k=2).tolist()
    [0.0]
    """
    return _of_tops(scores, embeddings, k, lambda _, vectors: _mean_cosine(vectors))


def pair_ratio(
    scores: ArrayLike, embeddings: ArrayLike, top: int = 10, bottom: int = 50, k: int = 100
) -> Scores:
    """How much closer the best results lie together than those further down.

    The mean cosine over pairs of ranks 1 to ``top``, over that of ranks ``bottom + 1`` to ``k``.

    Args:
        scores: shape ``(queries, documents)``, padded with NaN; of ties the first given is taken.
        embeddings: of the same documents, shape ``(queries, documents, dimensions)``.
        top: the last rank of the upper group.
        bottom: the last rank above the lower group, at least ``top``.
        k: the last rank of the lower group, above ``bottom``.

    Returns:
        Shape ``(queries,)``; NaN where a group has fewer than two documents, or the lower one has
        a mean cosine of 0.

    Source: pairRatio of Vlachou and Macdonald 2023 (see ``coherence``); its ranks are parameters.

    >>> vectors = [[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]]
    >>> pair_ratio([[4.0, 3.0, 2.0, 1.0]], vectors, top=2, bottom=2, k=4).round(3).tolist()
    [1.667]
    """
    if not depth(top, "top") <= depth(bottom, "bottom") < depth(k):
        raise PredictorError(f"ranks are out of order: top {top} <= bottom {bottom} < k {k}")

    def ratio(_: Scores, vectors: Vectors) -> float:
        lower = _mean_cosine(vectors[bottom:])
        return _mean_cosine(vectors[:top]) / lower if lower != 0 else np.nan

    return _of_tops(scores, embeddings, k, ratio)


def dense_qpp(
    queries: ArrayLike,
    documents: ArrayLike,
    noise: float = 0.05,
    repeats: int = 10,
    k: int = 100,
    p: float = 0.9,
    seed: int = 0,
) -> Scores:
    """Whether noise on the query's vector leaves its results in place.

    The mean rank-biased overlap of the query's top k with those of ``repeats`` noisy copies of it.
    A copy is the unit vector of the query plus Gaussian noise whose expected length is about
    ``noise``: each coordinate's deviation is ``noise / sqrt(dimensions)``.

    Args:
        queries: shape ``(queries, dimensions)``.
        documents: the collection's vectors, shape ``(documents, dimensions)``; ranked by cosine,
            of ties the first one wins.
        noise: length of the noise against that of the query, at least 0.
        repeats: noisy copies of each query.
        k: how many documents from the top are compared.
        p: persistence of the overlap.
        seed: of the noise; the same seed gives the same result, whatever queries are beside.

    Returns:
        Shape ``(queries,)``, from 0 to 1; higher speaks for the query. NaN without documents.

    Source: Arabzadeh, Hamidi Rad, Khodabakhsh and Bagheri, "Noisy perturbations for estimating
    query difficulty in dense retrievers", CIKM 2023; the scale of the noise is a parameter here.

    >>> dense_qpp([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).tolist()
    [1.0]
    """
    if not np.isfinite(noise) or noise < 0:
        raise PredictorError(f"`noise` is {noise!r}; it must be a number from 0 on")
    asked = _unit(np.asarray(queries, dtype=np.float64), "queries")
    searched = _unit(np.asarray(documents, dtype=np.float64), "documents")
    if len(searched) == 0:
        return np.full(len(asked), np.nan)
    # One draw for all queries: a query's value does not depend on those beside it.
    draws = np.random.default_rng(seed).normal(size=(depth(repeats, "repeats"), asked.shape[1]))
    draws *= noise / np.sqrt(max(asked.shape[1], 1))
    overlaps = np.empty(len(asked))
    for at, query in enumerate(asked):
        lists = _best(np.vstack([query[None], query + draws]) @ searched.T, depth(k))
        overlaps[at] = rank_biased_overlap(np.repeat(lists[:1], len(draws), 0), lists[1:], p).mean()
    return overlaps


def _best(scores: Vectors, k: int) -> NDArray[np.int64]:
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def _of_tops(
    scores: ArrayLike, embeddings: ArrayLike, k: int, value: Callable[[Scores, Vectors], float]
) -> Scores:
    """Return a value of each query's best k documents in their order, NaN for an empty list."""
    values = checked(scores)
    vectors, most = _vectors(embeddings, values), depth(k)
    results = np.full(len(values), np.nan)
    for at, places in enumerate(_best(values, most)):
        count = int((~np.isnan(values[at])).sum())
        if count:
            results[at] = value(values[at, places[:count]], vectors[at, places[:count]])
    return results


def _alike(scores: Scores, vectors: Vectors, neighbours: int) -> float:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :neighbours]
    weights = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0)
    total = weights.sum(axis=1)
    # Around a document without similar ones stands the mean score, 0 of the centred ones.
    centred = scores - scores.mean()
    around = np.divide(
        (weights * centred[nearest]).sum(axis=1), total, out=np.zeros(len(scores)), where=total > 0
    )
    return _pearson(scores, around)


def _pearson(left: Scores, right: Scores) -> float:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return 0.0
    x, y = left - left.mean(), right - right.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def _mean_cosine(vectors: Vectors) -> float:
    n = len(vectors)
    if n < 2:
        return np.nan
    cosines = vectors @ vectors.T
    return float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))


def _vectors(embeddings: ArrayLike, scores: Scores) -> Vectors:
    """Check the vectors of result lists and bring them to length 1."""
    array = np.asarray(embeddings, dtype=np.float64)
    if array.ndim != 3 or array.shape[:2] != scores.shape:
        raise PredictorError(
            f"`embeddings` has shape {array.shape}; for scores of shape {scores.shape} it must be "
            f"({scores.shape[0]}, {scores.shape[1]}, dimensions)"
        )
    # What stands where a list is padded is never looked at.
    array = np.where(np.isnan(scores)[:, :, None], 0.0, array)
    return _unit(array, "embeddings")


def _unit(array: Vectors, name: str) -> Vectors:
    if not np.isfinite(array).all():
        raise PredictorError(f"`{name}` holds values that are not finite")
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    return np.divide(array, length, out=np.zeros_like(array), where=length > 0)
