"""A pre-retrieval measure over a collection, as a predictor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models.checkpoint import Tensors
from pqpp_models.errors import UnknownPredictorError
from pqpp_models.measures.pre_retrieval.measures import (
    MEASURES,
    NEED_POSTINGS,
    pre_retrieval_values,
)
from pqpp_models.measures.pre_retrieval.statistics import CaptionStatistics, named_statistics
from pqpp_models.predictor import Predictor


class PreRetrievalPredictor(Predictor):
    """One pre-retrieval measure as the prediction for every target: not fitted, not scaled.

    A saved predictor holds the statistics of its collection, and says which caption holds which
    terms only where its measure needs that. One that is asked for by its
    registered name takes the collection that ``PQPP_COLLECTION`` names.

    Args:
        name: one of ``MEASURES``.
        statistics: of the collection.

    Raises:
        UnknownPredictorError: the name is not a measure's.

    >>> statistics = CaptionStatistics.from_texts(["a cat", "a dog", "a red dog"])
    >>> PreRetrievalPredictor("sum_idf", statistics).predict(["a dog"], "mean_rr").round(3).tolist()
    [[0.405]]
    """

    supervised = False

    def __init__(self, name: str, statistics: CaptionStatistics) -> None:
        if name not in MEASURES:
            raise UnknownPredictorError(
                f"no pre-retrieval predictor is called {name!r}; available: {', '.join(MEASURES)}"
            )
        self.name, self.statistics = name, statistics

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        values = pre_retrieval_values(rows, self.statistics, [self.name])
        return np.repeat(values, len(targets), axis=1)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        return self.statistics.state(postings=self.name in NEED_POSTINGS)

    def _card(self) -> str:
        statistics = self.statistics
        return (
            "---\nlicense: apache-2.0\ntags:\n- query-performance-prediction\n---\n"
            f"# {self.name}\n\n"
            "A pre-retrieval predictor, not fitted: the raw value is the prediction for every "
            f"target. It holds counts of {len(statistics.terms):,} terms over "
            f"{statistics.n_documents:,} captions, and no caption's text. "
            "`Predictor.from_pretrained` of the package `pqpp` loads it.\n"
        )

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Return the predictor over the collection that ``PQPP_COLLECTION`` names."""
        return cls(name, named_statistics())

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return a saved predictor with its collection's statistics."""
        statistics = CaptionStatistics.from_state(folder, config, tensors)
        return cls(config["predictor_type"], statistics)
