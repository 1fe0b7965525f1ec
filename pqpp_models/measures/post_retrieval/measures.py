"""The post-retrieval measures on rows that hold a prompt and its result list.

``scores`` is a list of numbers, one a document; ``embeddings`` and ``captions`` belong to the same
documents in the same order; ``results`` and ``perturbed`` are numbers of documents, best first. A
row may also hold ``collection_score``, which NQC, WIG and SMV divide by or compare with.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pqpp_models.measures.measure import measures_of
from pqpp_models.measures.post_retrieval import embeddings, rankings, scores
from pqpp_models.measures.post_retrieval.arrays import Scores, pad
from pqpp_models.measures.post_retrieval.captions import clarity
from pqpp_models.measures.pre_retrieval.measures import COUNTS
from pqpp_models.measures.pre_retrieval.statistics import CaptionStatistics, terms_of

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
