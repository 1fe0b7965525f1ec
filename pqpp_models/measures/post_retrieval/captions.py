"""The clarity of a result list whose documents are described by captions."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pqpp_models.errors import PredictorError
from pqpp_models.measures.post_retrieval.arrays import depth
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
