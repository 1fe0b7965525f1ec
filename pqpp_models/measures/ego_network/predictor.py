"""An ego-network measure over a word embedding, as a predictor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models.checkpoint import CONFIG, WEIGHTS, Tensors
from pqpp_models.errors import CheckpointError, PredictorError, UnknownPredictorError
from pqpp_models.measures.ego_network.network import (
    AGGREGATIONS,
    MEASURES,
    EgoNetworks,
    ego_network_values,
    terms_of,
)
from pqpp_models.measures.ego_network.vectors import WordVectors, named_word_vectors
from pqpp_models.predictor import Predictor


class EgoNetworkPredictor(Predictor):
    """One ego-network measure as the prediction for every target: not fitted, not scaled.

    A prompt without words gets 0.0. A saved predictor holds its word vectors. One that is asked
    for by its registered name takes those that ``PQPP_WORD_VECTORS`` names, alpha 2 and beta 0.99.

    Args:
        name: one of ``MEASURES``.
        networks: of a word embedding.
        aggregation: one of ``AGGREGATIONS``, from the words to the prompt.

    Raises:
        UnknownPredictorError: the name is not a measure's.
        PredictorError: the aggregation is not known.
    """

    supervised = False

    def __init__(self, name: str, networks: EgoNetworks, aggregation: str = "mean") -> None:
        if name not in MEASURES:
            raise UnknownPredictorError(
                f"no ego-network measure is called {name!r}; available: {', '.join(MEASURES)}"
            )
        if aggregation not in AGGREGATIONS:
            raise PredictorError(
                f"`aggregation` is {aggregation!r}; it must be one of {', '.join(AGGREGATIONS)}"
            )
        self.name, self.networks, self.aggregation = name, networks, aggregation

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        words = [terms_of(prompt) for prompt in rows]
        values = ego_network_values(words, self.networks, [self.name], self.aggregation)
        return np.repeat(values, len(targets), axis=1)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        vectors = self.networks.vectors
        words = "\n".join(vectors.words).encode("utf-8", "surrogateescape")
        tensors: Tensors = {"words": np.frombuffer(words, np.uint8), "vectors": vectors.array}
        return {"aggregation": self.aggregation, **self.networks.settings}, tensors

    def _card(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.networks.settings.items())
        return (
            "---\nlicense: other\ntags:\n- query-performance-prediction\n---\n"
            f"# {self.name}\n\n"
            "A measure of ego networks (Arabzadeh et al., ECIR 2020; PQPP, appendix 12), not "
            f"fitted: the raw value is the prediction for every target. Settings: {settings}, "
            f"{self.aggregation} over the words. It holds {len(self.networks.vectors.words):,} "
            "word vectors, whose licence is that of their source. "
            "`Predictor.from_pretrained` of the package `pqpp` loads it.\n"
        )

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Return the predictor over the word vectors that ``PQPP_WORD_VECTORS`` names."""
        return cls(name, _networks(named_word_vectors()))

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return a saved predictor with its word vectors."""
        try:
            words = bytes(tensors["words"]).decode("utf-8", "surrogateescape").split("\n")
            vectors = WordVectors(words, tensors["vectors"])
            settings = {name: config[name] for name in ("alpha", "beta", "threshold")}
            networks = EgoNetworks(vectors, **settings)
            return cls(config["predictor_type"], networks, config["aggregation"])
        except (KeyError, TypeError, PredictorError) as error:
            raise CheckpointError(
                f"{folder}: {CONFIG} and {WEIGHTS} do not describe word vectors ({error}); save "
                "or download the predictor again"
            ) from None


# The seven predictors are usually run one after the other over one embedding.
@lru_cache(maxsize=2)
def _networks(vectors: WordVectors) -> EgoNetworks:
    return EgoNetworks(vectors)
