"""The post-retrieval measures as predictors of rows that hold a prompt and its result list.

=================== ==================================================== =========================
name                what a row holds beside ``prompt``                   options
=================== ==================================================== =========================
``nqc``             ``scores``; ``collection_score`` if there is one     ``k`` 100
``wig``             ``scores``; ``collection_score`` if there is one     ``k`` 5
``smv``             ``scores``; ``collection_score`` if there is one     ``k`` 100
``sigma_max``       ``scores``
``n_sigma``         ``scores``                                           ``share`` 0.5
``score_variation`` ``scores``                                           ``k`` 100
``autocorrelation`` ``scores``, ``embeddings``                           ``k`` 75, ``neighbours`` 5
``coherence``       ``scores``, ``embeddings``                           ``k`` 10
``pair_ratio``      ``scores``, ``embeddings``                           ``top`` 10, ``bottom`` 50,
                                                                         ``k`` 100
``query_drift``     ``results``, ``perturbed``                           ``k`` 100
``clarity``         ``scores``, ``captions``                             ``k`` 100,
                                                                         ``smoothing`` 0.6
=================== ==================================================== =========================

``scores`` is a list of numbers, one a document; ``embeddings`` and ``captions`` belong to the same
documents in the same order; ``results`` and ``perturbed`` are numbers of documents, best first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models.checkpoint import CONFIG, Tensors
from pqpp_models.errors import CheckpointError, PredictorError, UnknownPredictorError
from pqpp_models.measures.post_retrieval import embeddings, rankings, scores
from pqpp_models.measures.post_retrieval.arrays import Scores, pad
from pqpp_models.measures.post_retrieval.captions import clarity
from pqpp_models.measures.pre_retrieval.statistics import (
    CaptionStatistics,
    named_statistics,
    terms_of,
)
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, read_prompts

Row = Mapping[str, Any]


class Measure(NamedTuple):
    """A measure on rows.

    Attributes:
        compute: takes rows, options and, for clarity, statistics; returns one value a row.
        needs: what a row must hold beside the prompt.
        options: the options with what they are if nothing is said.
    """

    compute: Callable[[list[Row], dict[str, Any], CaptionStatistics | None], Scores]
    needs: tuple[str, ...]
    options: dict[str, Any]


def _on_scores(function: Callable[..., Scores], collection: bool = False, length: bool = False):
    def compute(rows: list[Row], options: dict[str, Any], _: Any) -> Scores:
        given = dict(options)
        if length:
            # A blank prompt counts as one term, so that nothing is divided by zero.
            given["query_length"] = [max(len(terms_of(row[COLUMN])), 1) for row in rows]
        if collection and "collection_score" in rows[0]:
            given["collection_score"] = [row.get("collection_score") for row in rows]
        return function(pad(row["scores"] for row in rows), **given)

    return compute


def _on_lists(function: Callable[..., Scores], first: str, second: str):
    # One row at a time: lists differ in length, and vectors are too large to pad.
    def compute(rows: list[Row], options: dict[str, Any], _: Any) -> Scores:
        return np.array(
            [function([row[first]], _one_list(row[second]), **options)[0] for row in rows]
        )

    return compute


def _clarity(rows: list[Row], options: dict[str, Any], statistics: Any) -> Scores:
    return np.array(
        [clarity(row["captions"], statistics, row["scores"], **options) for row in rows]
    )


def _one_list(values: Any) -> NDArray[Any]:
    return np.asarray(values)[None]


_VECTORS = ("scores", "embeddings")
_IDS = ("results", "perturbed")

MEASURES: dict[str, Measure] = {
    "nqc": Measure(_on_scores(scores.nqc, collection=True), ("scores",), {"k": 100}),
    "wig": Measure(_on_scores(scores.wig, collection=True, length=True), ("scores",), {"k": 5}),
    "smv": Measure(_on_scores(scores.smv, collection=True), ("scores",), {"k": 100}),
    "sigma_max": Measure(_on_scores(scores.sigma_max), ("scores",), {}),
    "n_sigma": Measure(_on_scores(scores.n_sigma, length=True), ("scores",), {"share": 0.5}),
    "score_variation": Measure(_on_scores(scores.score_variation), ("scores",), {"k": 100}),
    "autocorrelation": Measure(
        _on_lists(embeddings.autocorrelation, *_VECTORS), _VECTORS, {"k": 75, "neighbours": 5}
    ),
    "coherence": Measure(_on_lists(embeddings.coherence, *_VECTORS), _VECTORS, {"k": 10}),
    "pair_ratio": Measure(
        _on_lists(embeddings.pair_ratio, *_VECTORS), _VECTORS, {"top": 10, "bottom": 50, "k": 100}
    ),
    "query_drift": Measure(_on_lists(rankings.query_drift, *_IDS), _IDS, {"k": 100}),
    "clarity": Measure(_clarity, ("scores", "captions"), {"k": 100, "smoothing": 0.6}),
}
"""The measures by name."""


class PostRetrievalPredictor(Predictor):
    """One post-retrieval measure as the prediction for every target: not fitted, not scaled.

    A row without documents, or for which the measure is undefined, gets 0.0.

    Args:
        name: one of ``MEASURES``.
        options: those of the measure; the others stay as the table above says.
        statistics: of the collection, for ``clarity``.

    Raises:
        UnknownPredictorError: the name is not a measure's.
        PredictorError: an option is not the measure's, or clarity has no statistics.

    >>> rows = [{"prompt": "a cat", "scores": [3.0, 1.0]}, {"prompt": "a dog", "scores": []}]
    >>> PostRetrievalPredictor("score_variation").predict(rows, "mean_p10").tolist()
    [[1.0], [0.0]]
    """

    inputs = "text+scores"
    supervised = False
    chunk_size = 256

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        statistics: CaptionStatistics | None = None,
    ) -> None:
        if name not in MEASURES:
            raise UnknownPredictorError(
                f"no post-retrieval predictor is called {name!r}; available: {', '.join(MEASURES)}"
            )
        known = MEASURES[name].options
        unknown = [option for option in options or {} if option not in known]
        if unknown:
            raise PredictorError(
                f"{name} has no option {unknown[0]!r}; it has: {', '.join(known) or 'none'}"
            )
        if name == "clarity" and statistics is None:
            raise PredictorError("clarity needs `statistics` of a collection of captions")
        self.name, self.statistics = name, statistics
        self.options = {**known, **(options or {})}

    def _read_rows(self, rows: Any) -> list[Row]:
        read = _records(rows)
        needed = (COLUMN, *MEASURES[self.name].needs)
        for index, row in enumerate(read):
            missing = [
                key for key in needed if not isinstance(row, Mapping) or row.get(key) is None
            ]
            if missing:
                raise PredictorError(
                    f"the row at index {index} has no {missing[0]!r}; {self.name} needs rows with "
                    f"{', '.join(needed)}"
                )
        read_prompts(read)
        return read

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        try:
            values = MEASURES[self.name].compute(rows, self.options, self.statistics)
        except (TypeError, ValueError) as error:
            if isinstance(error, PredictorError):
                raise
            needs = ", ".join(MEASURES[self.name].needs)
            raise PredictorError(f"{self.name} cannot read {needs} as numbers: {error}") from None
        values = np.where(np.isnan(values), 0.0, values)
        return np.repeat(values[:, None], len(targets), axis=1)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        config: dict[str, Any] = {"options": self.options}
        if self.statistics is None:
            return config, {}
        counted, tensors = self.statistics.state(postings=False)
        return {**config, **counted}, tensors

    def _card(self) -> str:
        options = ", ".join(f"{name} = {value}" for name, value in self.options.items())
        return (
            "---\nlicense: apache-2.0\ntags:\n- query-performance-prediction\n---\n"
            f"# {self.name}\n\n"
            "A post-retrieval predictor, not fitted: the raw value is the prediction for every "
            f"target. Options: {options or 'none'}. Rows hold: "
            f"{', '.join((COLUMN, *MEASURES[self.name].needs))}. "
            "`Predictor.from_pretrained` of the package `pqpp` loads it.\n"
        )

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Return the predictor of one measure; clarity takes what ``PQPP_COLLECTION`` names."""
        return cls(name, statistics=named_statistics() if name == "clarity" else None)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return a saved predictor with its options and, for clarity, its statistics."""
        options = config.get("options")
        if not isinstance(options, dict):
            raise CheckpointError(f"{folder / CONFIG} has no 'options'; save the predictor again")
        statistics = CaptionStatistics.from_state(folder, config, tensors) if tensors else None
        try:
            return cls(config["predictor_type"], options, statistics)
        except PredictorError as error:
            raise CheckpointError(f"{folder / CONFIG}: {error}") from None


def _records(rows: Any) -> list[Any]:
    """Return rows as a list, whatever table they come from."""
    if isinstance(rows, Mapping):
        if isinstance(rows.get(COLUMN), str):
            raise PredictorError("`rows` is one row, not a list of rows; write [row]")
        columns = {name: list(values) for name, values in rows.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise PredictorError("the columns of `rows` are not of one length")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        return rows.to_dict("records")
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise PredictorError(
            f"`rows` is a {type(rows).__name__}; give a list of rows with a prompt and its results"
        )
    return list(rows)
