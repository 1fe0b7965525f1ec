"""The post-retrieval measures on rows that hold a prompt and its result list.

``scores`` is a list of numbers, one a document; ``embeddings`` and ``captions`` belong to the same
documents in the same order; ``results`` and ``perturbed`` are numbers of documents, best first. A
row may also hold ``collection_score``, which NQC, WIG and SMV divide by or compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pqpp_models.measures.measure import Measure
from pqpp_models.measures.post_retrieval import embeddings, rankings, scores
from pqpp_models.measures.post_retrieval.arrays import Scores, pad
from pqpp_models.measures.post_retrieval.captions import clarity
from pqpp_models.measures.pre_retrieval.measures import COUNTS
from pqpp_models.measures.pre_retrieval.statistics import CaptionStatistics, terms_of

_Row = Mapping[str, Any]
_SHTOK = "Shtok et al., ACM TOIS 2012"
_AUTHORS = "the PQPP authors' repository"
_VLACHOU = "Vlachou and Macdonald 2023"


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
        return np.array([function([one], other, **options)[0] for one, other in pairs], float)

    return compute


def _clarity(rows: list[_Row], statistics: CaptionStatistics, **options: Any) -> Scores:
    found = [clarity(row["captions"], statistics, row["scores"], **options) for row in rows]
    return np.array(found, float)


def _of_scores(compute, about: str, source: str, **options: Any) -> Measure:
    return Measure(compute, "easier", about, source, columns=("scores",), options=options)


def _of_vectors(function, about: str, source: str, **options: Any) -> Measure:
    columns = ("scores", "embeddings")
    compute = _on_lists(function, *columns)
    return Measure(compute, "easier", about, source, columns=columns, options=options)


MEASURES: dict[str, Measure] = {
    "nqc": _of_scores(
        _on_scores(scores.nqc, collection=True),
        "spread of the top scores over the collection's score",
        _SHTOK,
        k=100,
    ),
    "wig": _of_scores(
        _on_scores(scores.wig, collection=True, length=True),
        "how far the top scores lie above the collection's",
        "Zhou and Croft, SIGIR 2007",
        k=5,
    ),
    "smv": _of_scores(
        _on_scores(scores.smv, collection=True),
        "magnitude and spread of the top scores",
        "Tao and Wu, CIKM 2014",
        k=100,
    ),
    "sigma_max": _of_scores(
        _on_scores(scores.sigma_max),
        "largest spread of any beginning of the list",
        "Pérez-Iglesias and Araujo, SPIRE 2010",
    ),
    "n_sigma": _of_scores(
        _on_scores(scores.n_sigma, length=True),
        "spread of the scores near the best one",
        "Cummins, Jose and O'Riordan, SIGIR 2011",
        share=0.5,
    ),
    "score_variation": _of_scores(
        _on_scores(scores.score_variation), "variance of the top scores", _AUTHORS, k=100
    ),
    "autocorrelation": _of_vectors(
        embeddings.autocorrelation,
        "whether results that resemble each other score alike",
        "Diaz, SIGIR 2007",
        k=75,
        neighbours=5,
    ),
    "coherence": _of_vectors(
        embeddings.coherence, "how close together the best results lie", _VLACHOU, k=10
    ),
    "pair_ratio": _of_vectors(
        embeddings.pair_ratio,
        "how much closer the best results lie than later ones",
        _VLACHOU,
        top=10,
        bottom=50,
        k=100,
    ),
    "query_drift": Measure(
        _on_lists(rankings.query_drift, "results", "perturbed"),
        "easier",
        "how much of the results a perturbed query keeps",
        _AUTHORS,
        columns=("results", "perturbed"),
        options={"k": 100},
    ),
    "clarity": Measure(
        _clarity,
        "easier",
        "how far the results' captions are from the collection",
        "Cronen-Townsend, Zhou and Croft, SIGIR 2002",
        columns=("scores", "captions"),
        evidence=COUNTS,
        options={"k": 100, "smoothing": 0.6},
    ),
}
"""The measures; each takes rows, the evidence and its options."""
