"""The post-retrieval measures on rows that hold a prompt and its result list.

``scores`` is a list of numbers, one a document; ``embeddings`` and ``captions`` belong to the same
documents in the same order; ``results`` and ``perturbed`` are numbers of documents, best first. A
row may also hold ``collection_score``, which NQC, WIG and SMV divide by or compare with.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pqpp_models.errors import PredictorError
from pqpp_models.measures.measure import measures_of
from pqpp_models.measures.post_retrieval import embeddings, rankings, scores
from pqpp_models.measures.post_retrieval.arrays import Scores, depth, pad
from pqpp_models.measures.pre_retrieval.measures import COUNTS
from pqpp_models.measures.pre_retrieval.statistics import CaptionStatistics, terms_of


def clarity(
    captions: Sequence[str],
    statistics: CaptionStatistics,
    scores: ArrayLike | None = None,
    k: int = 100,
    smoothing: float = 0.6,
) -> float:
    """How far the words of the results are from those of the collection, in bits.

    ``sum over w of P(w|q) log2(P(w|q) / P(w|C))`` with ``P(w|q) = sum over d of P(d|q) P(w|d)`` and
    ``P(w|d) = smoothing tf(w, d) / |d| + (1 - smoothing) P(w|C)``, over the known words of the
    collection; P(d|q) is proportional to ``exp(score)``, scores being log-likelihoods or, of a
    dense model, similarities times the scale that it was trained with.

    Args:
        captions: of the results of one query, in any order.
        statistics: of the collection.
        scores: one a caption; all count alike if left out.
        k: how many captions from the top; of ties the first given is taken, and without scores the
            first k.
        smoothing: from 0 to 1, the weight of the caption against the collection; 0.6 originally.

    Returns:
        At least 0: 0.0 if the results look like the collection; NaN without a caption. A caption
        without known words says what the collection says.

    Raises:
        PredictorError: the scores do not fit the captions, or an argument is out of its range.

    Source: Cronen-Townsend, Zhou and Croft, "Predicting query performance", SIGIR 2002.

    >>> statistics = CaptionStatistics.from_texts(["cat", "dog"])
    >>> clarity(["cat"], statistics, smoothing=1.0), clarity(["cat", "dog"], statistics)
    (1.0, 0.0)
    """
    if not 0 <= smoothing <= 1:
        raise PredictorError(f"`smoothing` is {smoothing!r}; it must be from 0 to 1")
    if len(captions) == 0:
        return float("nan")
    chosen, weights = _weighted(captions, scores, depth(k))
    frequency = statistics.collection_frequency
    background = frequency / statistics.n_tokens
    words = np.zeros(len(frequency))
    weights_sum = 0.0
    for text, weight in zip(chosen, weights, strict=True):
        counts = Counter(terms_of(text))
        places = {int(place): counts[statistics.terms[place]] for place in statistics.find(counts)}
        length = sum(places.values())
        if length:
            weights_sum += weight
            for place, times in places.items():
                words[place] += weight * times / length
    model = smoothing * words + (1 - smoothing * weights_sum) * background
    here = model > 0
    bits = np.sum(model[here] * np.log2(model[here] / background[here]))
    # A divergence is never negative; rounding may say otherwise.
    return max(float(bits), 0.0)


def _weighted(
    captions: Sequence[str], scores: ArrayLike | None, k: int
) -> tuple[list[str], np.ndarray]:
    if scores is None:
        chosen = list(captions[:k])
        return chosen, np.full(len(chosen), 1 / len(chosen))
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (len(captions),) or not np.isfinite(values).all():
        raise PredictorError(
            f"`scores` has shape {values.shape}; it must be one finite score for each of the "
            f"{len(captions)} captions"
        )
    order = np.argsort(-values, kind="stable")[:k]
    likelihood = np.exp(values[order] - values[order[0]])
    return [captions[place] for place in order], likelihood / likelihood.sum()


_Row = Mapping[str, Any]


def _on_scores(function: Callable[..., Scores], collection: bool = False, length: bool = False):
    def compute(rows: list[_Row], _: Any, **options: Any) -> Scores:
        if length:
            # A prompt without terms counts as one term, so that nothing is divided by zero.
            options["query_length"] = [max(len(terms_of(row["prompt"])), 1) for row in rows]
        if collection and rows and "collection_score" in rows[0]:
            options["collection_score"] = [row.get("collection_score") for row in rows]
        return function(pad(row["scores"] for row in rows), **options)

    return compute


def _on_lists(function: Callable[..., Scores], first: str, second: str):
    # One row at a time: lists differ in length, and vectors are too large to pad.
    def compute(rows: list[_Row], _: Any, **options: Any) -> Scores:
        pairs = ((row[first], np.asarray(row[second])[None]) for row in rows)
        return np.array(
            [function([ranking], other, **options)[0] for ranking, other in pairs], float
        )

    return compute


def _clarity(rows: list[_Row], statistics: CaptionStatistics, **options: Any) -> Scores:
    clarities = [clarity(row["captions"], statistics, row["scores"], **options) for row in rows]
    return np.array(clarities, float)


_COMPUTES: dict[str, Callable[..., Scores]] = {
    "nqc": _on_scores(scores.nqc, collection=True),
    "wig": _on_scores(scores.wig, collection=True, length=True),
    "smv": _on_scores(scores.smv, collection=True),
    "sigma_max": _on_scores(scores.sigma_max),
    "n_sigma": _on_scores(scores.n_sigma, length=True),
    "score_variation": _on_scores(scores.score_variation),
    "autocorrelation": _on_lists(embeddings.autocorrelation, "scores", "embeddings"),
    "coherence": _on_lists(embeddings.coherence, "scores", "embeddings"),
    "pair_ratio": _on_lists(embeddings.pair_ratio, "scores", "embeddings"),
    "query_drift": _on_lists(rankings.query_drift, "results", "perturbed"),
}
MEASURES = {**measures_of(_COMPUTES), **measures_of({"clarity": _clarity}, evidence=COUNTS)}
"""The measures; each takes rows, the evidence and its options."""
