"""Post-retrieval measures: the quality of a prompt's result list, without judgments.

Each function accepts one or more results of one prompt, in any order. Equal scores are ranked in
the given order, and if there are fewer results than requested, all are used. The functions in
`MEASURES` accept rows: ``scores`` is a list of numbers, one per document; ``embeddings`` and
``captions`` belong to the same documents in the same order; ``results`` and ``perturbed`` are
document indices, best first. A row may also contain ``collection_score``.

**The collection's score** S(C) is the retrieval model's score of the whole collection as one
document. A dense retriever has no such score. If none is given, the mean of all scores of the query
replaces it. The more documents of the collection were scored, the better the mean, so give many
more documents than ``k``, or give the mean itself.

Vectors are compared by their cosine; one of zeros has a cosine of 0 with everything. They may be
from any single-vector model of texts or images.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.measures.caption_statistics import CaptionStatistics, split_terms
from pqpp_models.measures.measure import make_measures
from pqpp_models.measures.pre_retrieval import COLLECTION

Scores = NDArray[np.float64]


def nqc(scores: ArrayLike, k: int = 100, collection_score: float | None = None) -> float:
    """Normalised query commitment: the top scores' standard deviation over the collection's score.

    ``sqrt(mean((s - mean(s))^2 over the top k)) / |S(C)|``, with the population standard deviation.

    Args:
        k: number of top documents; the original recommends 100.

    Returns:
        At least 0: 0.0 if all top scores are equal, NaN if S(C) is 0 and they are not.

    Source: Shtok, Kurland, Carmel, Raiber and Markovits, "Predicting query performance by
    query-drift estimation", ACM TOIS 30(2), 2012.

    >>> nqc([3.0, 1.0, 0.0, 0.0], k=2, collection_score=-2.0)
    0.5
    """
    ranked = _sort_descending(scores)
    return _divide(_variance(ranked[:k]) ** 0.5, _get_collection_score(ranked, collection_score))


def wig(
    scores: ArrayLike, query_length: int, k: int = 5, collection_score: float | None = None
) -> float:
    """Weighted information gain: how much the top scores exceed the score of the collection.

    ``mean(s - S(C) over the top k) / sqrt(|q|)``.

    Args:
        query_length: number of query terms, ``|q|``, at least 1.
        k: number of top documents; the original recommends 5.

    Source: Zhou and Croft, "Query performance prediction in web search environments", SIGIR 2007,
    in the form for plain scores of Shtok et al. 2012 (see ``nqc``).

    >>> wig([4.0, 2.0, 0.0], query_length=4, k=2, collection_score=1.0)
    1.0
    """
    ranked = _sort_descending(scores)
    gain = ranked[:k].mean() - _get_collection_score(ranked, collection_score)
    return float(gain / np.sqrt(query_length))


def smv(scores: ArrayLike, k: int = 100, collection_score: float | None = None) -> float:
    """Score magnitude and variance together.

    ``mean(s |ln(s / mean(s))| over the top k) / |S(C)|``. Scores must be above 0: use ``1 +
    cosine`` or the exponential of a dense model's cosine.

    Args:
        scores: scores of the documents; the top k must be above 0.
        k: number of top documents.

    Returns:
        At least 0: 0.0 if all top scores are equal.

    Source: Tao and Wu, "Query performance prediction by considering score magnitude and variance
    together", CIKM 2014.

    >>> smv([2.0, 2.0, 1.0], k=2), round(smv([3.0, 1.0], collection_score=1.0), 4)
    (0.0, 0.9548)
    """
    ranked = _sort_descending(scores)
    top = ranked[:k]
    if top[-1] <= 0:
        raise PredictorError(
            f"SMV needs scores above 0, like 1 + cosine; the lowest of the top {k} is {top[-1]:g}"
        )
    # The mean of equal scores may have a rounding error, so return 0 exactly.
    magnitude = float(np.mean(top * np.abs(np.log(top / top.mean())))) if _variance(top) else 0.0
    return _divide(magnitude, _get_collection_score(ranked, collection_score))


def sigma_max(scores: ArrayLike) -> float:
    """The largest standard deviation over all prefixes of the ranked list.

    ``max over k of sqrt(mean((s - mean(s))^2 over the top k))``, k from 1 to the number of
    documents. The measure needs no parameter, since a long tail of low scores lowers the standard
    deviation again.

    Returns:
        At least 0: 0.0 for one document or equal scores.

    Source: Pérez-Iglesias and Araujo, "Standard deviation as a query hardness estimator", SPIRE
    2010.

    >>> sigma_max([4.0, 0.0, 0.0, 0.0])
    2.0
    """
    ranked = _sort_descending(scores)
    # Relative to the best score, so that a large common offset costs no precision.
    shifted, ranks = ranked - ranked[0], np.arange(1, len(ranked) + 1)
    means = np.cumsum(shifted) / ranks
    return float(np.sqrt(np.maximum(np.cumsum(shifted**2) / ranks - means**2, 0.0)).max())


def n_sigma(scores: ArrayLike, query_length: int, share: float = 0.5) -> float:
    """The standard deviation of the scores near the best one, normalised by query length.

    ``sqrt(mean((s - mean(s))^2)) / sqrt(|q|)`` over the documents with at least ``share`` of the
    best score; often written n(sigma_50%).

    Args:
        scores: the best must be above 0.
        query_length: number of query terms, ``|q|``, at least 1; with 1 there is no normalisation.
        share: share of the best score, from 0 to 1.

    Returns:
        At least 0: 0.0 if only the best document has such a score.

    Source: Cummins, Jose and O'Riordan, "Improved query performance prediction using standard
    deviation", SIGIR 2011.

    >>> n_sigma([4.0, 2.0, 1.0], query_length=1)
    1.0
    """
    ranked = _sort_descending(scores)
    if ranked[0] <= 0:
        raise PredictorError(f"n_sigma needs a best score above 0; got {ranked[0]:g}")
    return float(np.sqrt(_variance(ranked[ranked >= share * ranked[0]]) / query_length))


def score_variation(scores: ArrayLike, k: int = 100) -> float:
    """The population variance of the top scores.

    Args:
        k: number of top documents; 100 in the code of the PQPP paper's authors.

    Returns:
        At least 0: 0.0 for one document or equal scores.

    Source: the public repository of the PQPP paper's authors, there called score variation.

    >>> score_variation([3.0, 1.0, 0.0], k=2)
    1.0
    """
    return _variance(_sort_descending(scores)[:k])


def autocorrelation(
    scores: ArrayLike, embeddings: ArrayLike, k: int = 75, neighbours: int = 5
) -> float:
    """Spatial autocorrelation: whether similar documents have similar scores.

    Pearson's correlation, over the top k, of each document's score with the mean of its neighbours'
    scores, weighted by cosine. A document's neighbours are the most similar of the others, if
    their cosine is above 0.

    Args:
        embeddings: embeddings of the documents, shape ``(documents, dimensions)``.
        k: number of top documents; the original uses 75.
        neighbours: number of neighbours per document; the original uses 5.

    Returns:
        From -1 to 1: 0.0 if the scores or the means are constant (equal scores, no similar
        documents, fewer than two documents).

    Source: Diaz, "Performance prediction using spatial autocorrelation", SIGIR 2007.

    >>> vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> round(autocorrelation([0.9, 0.8, 0.2, 0.1], vectors, neighbours=1), 2)
    0.96
    """
    vectors, ranked = _select_top_vectors(scores, embeddings, k), _sort_descending(scores)[:k]
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :neighbours]
    weights = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0)
    total = weights.sum(axis=1)
    # A document without similar ones has the mean score, which is 0 after centring.
    centred = ranked - ranked.mean()
    neighbour_means = np.divide(
        (weights * centred[nearest]).sum(axis=1), total, out=np.zeros(len(ranked)), where=total > 0
    )
    if np.ptp(ranked) == 0 or np.ptp(neighbour_means) == 0:
        return 0.0
    means = neighbour_means - neighbour_means.mean()
    correlation = centred @ means / np.sqrt((centred @ centred) * (means @ means))
    return float(np.clip(correlation, -1.0, 1.0))


def coherence(scores: ArrayLike, embeddings: ArrayLike, k: int = 10) -> float:
    """The mean cosine over pairs of the top k results.

    Args:
        embeddings: embeddings of the documents, shape ``(documents, dimensions)``.
        k: number of top documents.

    Returns:
        From -1 to 1; NaN for fewer than two documents.

    Source: the mean pairwise similarity that ``pair_ratio`` compares; Vlachou and Macdonald, "On
    coherence-based predictors for dense query performance prediction", 2023 (arXiv 2310.11405).

    >>> coherence([2.0, 1.0, 0.0], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], k=2)
    0.0
    """
    return _average_cosines(_select_top_vectors(scores, embeddings, k))


def pair_ratio(
    scores: ArrayLike, embeddings: ArrayLike, top: int = 10, bottom: int = 50, k: int = 100
) -> float:
    """How much more similar the best results are to each other than lower ones.

    The mean cosine over pairs of documents at ranks 1 to ``top``, divided by that at ranks ``bottom
    + 1`` to ``k``.

    Args:
        embeddings: embeddings of the documents, shape ``(documents, dimensions)``.
        top: the last rank of the upper group.
        bottom: the last rank above the lower group, at least ``top``.
        k: the last rank of the lower group, above ``bottom``.

    Returns:
        NaN if a group has fewer than two documents, or the lower one has a mean cosine of 0.

    Source: pairRatio of Vlachou and Macdonald 2023 (see ``coherence``); its ranks are parameters.

    >>> vectors = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]
    >>> round(pair_ratio([4.0, 3.0, 2.0, 1.0], vectors, top=2, bottom=2, k=4), 3)
    1.667
    """
    vectors = _select_top_vectors(scores, embeddings, k)
    lower = _average_cosines(vectors[bottom:])
    return _average_cosines(vectors[:top]) / lower if lower != 0 else np.nan


def query_drift(results: Sequence[int], perturbed: Sequence[int], k: int = 100) -> float:
    """The overlap of the result lists of a query and of its perturbation.

    The intersection of the two top-k sets over their union (Jaccard). 1.0 means no drift.

    Args:
        results: document indices, best first, padded with -1.
        perturbed: results of the perturbed query (for example with noise on its embedding).
        k: number of top documents; 100 in the code of the PQPP paper's authors.

    Returns:
        From 0 to 1; NaN for two empty lists.

    Source: the public repository of the PQPP paper's authors (there called query drift); the idea
    of robustness to perturbation is from Zhou and Croft, "Ranking robustness", CIKM 2006.

    >>> query_drift([1, 2, 3, 4], [2, 1, 9, 8], k=3)
    0.5
    """
    first, second = ({n for n in ids[:k] if n >= 0} for ids in (results, perturbed))
    return len(first & second) / len(first | second) if first | second else np.nan


def clarity(
    captions: Sequence[str],
    scores: ArrayLike,
    statistics: CaptionStatistics,
    k: int = 100,
    smoothing: float = 0.6,
) -> float:
    """How much the words of the results differ from those of the collection, in bits.

    ``sum over w of P(w|q) log2(P(w|q) / P(w|C))`` with ``P(w|q) = sum over d of P(d|q) P(w|d)`` and
    ``P(w|d) = smoothing tf(w, d) / |d| + (1 - smoothing) P(w|C)``, over the known words of the
    collection; P(d|q) is proportional to ``exp(score)``, where scores are log-likelihoods or, for a
    dense model, similarities times the scale that it was trained with.

    Args:
        scores: one per caption.
        statistics: term statistics of the collection.
        k: number of top captions.
        smoothing: weight of the caption's words against the collection's, from 0 to 1; originally
            0.6.

    Returns:
        At least 0: 0.0 if the results' words are distributed like the collection's. A caption
        without known words gets the collection's distribution.

    Source: Cronen-Townsend, Zhou and Croft, "Predicting query performance", SIGIR 2002.

    >>> statistics = CaptionStatistics.from_texts(["cat", "dog"])
    >>> clarity(["cat"], [1.0], statistics, smoothing=1.0)
    1.0
    """
    ranked = _sort_descending(scores)[:k]
    likelihood = np.exp(ranked - ranked[0])
    frequency = statistics.collection_frequency
    background = frequency / statistics.n_tokens
    words = np.zeros(len(frequency))
    for index, weight in zip(_rank_best(scores, k), likelihood / likelihood.sum(), strict=True):
        counts = Counter(split_terms(captions[index]))
        frequencies = {int(t): counts[statistics.terms[t]] for t in statistics.find_terms(counts)}
        length = sum(frequencies.values())
        for term, count in frequencies.items():
            words[term] += weight * count / length
    model = smoothing * words + (1 - smoothing * words.sum()) * background
    present = model > 0
    # A divergence is never negative, but its rounding error may be.
    return max(float(np.sum(model[present] * np.log2(model[present] / background[present]))), 0.0)


def _rank_best(scores: ArrayLike, k: int | None = None) -> NDArray[np.int64]:
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise PredictorError("`scores` contains NaN or infinity; remove those results")
    return np.argsort(-values, kind="stable")[:k]


def _sort_descending(scores: ArrayLike) -> Scores:
    return np.asarray(scores, dtype=np.float64)[_rank_best(scores)]


def _variance(values: Scores) -> float:
    # Relative to the highest value, so that equal values have no rounding error.
    shifted = values - values.max()
    return float(np.mean((shifted - shifted.mean()) ** 2))


def _get_collection_score(scores: Scores, collection_score: float | None) -> float:
    given = np.nan if collection_score is None else collection_score  # NaN in an empty cell
    return float(scores.mean()) if np.isnan(given) else given


def _divide(value: float, collection_score: float) -> float:
    """Divide by the absolute collection score; 0 / 0 is 0, and other values / 0 are NaN."""
    if value == 0:
        return 0.0
    return value / abs(collection_score) if collection_score != 0 else np.nan


def _select_top_vectors(scores: ArrayLike, embeddings: ArrayLike, k: int) -> Scores:
    array = np.asarray(embeddings, dtype=np.float64)
    if not np.isfinite(array).all():
        raise PredictorError("`embeddings` contains NaN or infinity; remove those results")
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    unit = np.divide(array, length, out=np.zeros_like(array), where=length > 0)
    return unit[_rank_best(scores, k)]


def _average_cosines(vectors: Scores) -> float:
    n = len(vectors)
    if n < 2:
        return np.nan
    cosines = vectors @ vectors.T
    return float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))


_COLUMNS = ("captions", "scores", "embeddings", "results", "perturbed")


def _adapt_to_rows(function: Callable[..., float]) -> Callable[..., Scores]:
    """Convert a function of a result list to one of rows; rows without documents give NaN."""
    names = signature(function).parameters
    columns = [name for name in _COLUMNS if name in names]

    def compute(rows: list[Mapping[str, Any]], evidence: Any, **options: Any) -> Scores:
        values = np.full(len(rows), np.nan)
        for index, row in enumerate(rows):
            arguments = {name: row[name] for name in columns} | options
            if "statistics" in names:
                arguments["statistics"] = evidence
            if "collection_score" in names:
                arguments["collection_score"] = row.get("collection_score")
            if "query_length" in names:  # no terms count as one
                arguments["query_length"] = max(len(split_terms(row["prompt"])), 1)
            if len(row[columns[0]]):
                values[index] = function(**arguments)
        return values

    return compute


_FUNCTIONS: tuple[Callable[..., float], ...] = (nqc, wig, smv, sigma_max, n_sigma)
_FUNCTIONS += (score_variation, autocorrelation, coherence, pair_ratio, query_drift)
MEASURES = {
    **make_measures({f.__name__: _adapt_to_rows(f) for f in _FUNCTIONS}),
    **make_measures({"clarity": _adapt_to_rows(clarity)}, evidence=COLLECTION),
}
"""The measures; each accepts rows, the evidence and its options."""
