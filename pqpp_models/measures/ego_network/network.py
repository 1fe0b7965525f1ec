"""The ego network of a word: the words near it, joined by how similar they are.

A word whose neighbours are many and close is taken to be specific. The network around a word (the
ego) is undirected; an edge's weight is the cosine of its two words.

* ``alpha``, the depth: 0 joins the ego with its neighbours; each further level joins the words of
  the level before with theirs. The PQPP paper's authors tried 1 and 2.
* ``beta``, the threshold, from 0 to 1. With ``threshold="relative"``, a neighbour of a word has at
  least ``beta`` times the similarity of the word's most similar one: the rule of the PQPP authors'
  published code and of the original work; they tried .95, .975 and .99. With
  ``threshold="absolute"``, a neighbour of the ego has at least the similarity ``beta``, and one of
  a further word at least ``beta`` times the similarity by which that word was joined: the rule as
  the PQPP paper's appendix words it. A word that is reached over several edges of one level is
  joined by the strongest.

Only similarities above 0 join words. A low ``beta`` on a large vocabulary makes networks for which
betweenness takes very long.

Source: PQPP paper, appendix 12, and its authors' public repository; Arabzadeh, Zarrinkalam,
Jovanovic and Bagheri, "Neural embedding-based metrics for pre-retrieval query performance
prediction", ECIR 2020.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_files.extras import needing
from pqpp_models.errors import PredictorError
from pqpp_models.measures.ego_network.vectors import WordVectors

Neighbours = tuple[NDArray[np.int64], NDArray[np.float32]]
THRESHOLDS = ("relative", "absolute")
_KEPT = 2048
"""So many networks are kept for words that come again."""


def ego_network(
    vectors: WordVectors, word: str, alpha: int = 2, beta: float = 0.99, threshold: str = "relative"
) -> Any:
    """Build the network around a word.

    Args:
        vectors: the embedding.
        word: the ego; one without a vector stands alone.
        alpha: as of `EgoNetworks`.
        beta: as of `EgoNetworks`.
        threshold: as of `EgoNetworks`.

    Returns:
        A ``networkx.Graph`` of words, its edges with ``weight``.

    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> sorted(map(sorted, ego_network(vectors, "cat", alpha=1, beta=0.9).edges))
    [['cat', 'dog']]
    >>> sorted(map(sorted, ego_network(vectors, "cat", alpha=1, beta=0.7).edges))
    [['car', 'dog'], ['cat', 'dog']]
    """
    return EgoNetworks(vectors, alpha, beta, threshold).build(word)


class EgoNetworks:
    """The networks of one embedding at one setting, kept for words that come again.

    Args:
        vectors: the embedding.
        alpha: the depth, at least 0.
        beta: the threshold, from 0 to 1.
        threshold: ``"relative"`` or ``"absolute"``.

    Raises:
        PredictorError: an argument is out of its range.
    """

    def __init__(
        self, vectors: WordVectors, alpha: int = 2, beta: float = 0.99, threshold: str = "relative"
    ) -> None:
        if alpha < 0 or not 0 <= beta <= 1 or threshold not in THRESHOLDS:
            raise PredictorError(
                f"`alpha` {alpha!r}, `beta` {beta!r} and `threshold` {threshold!r} must be from 0 "
                f"on, from 0 to 1, and one of {', '.join(THRESHOLDS)}"
            )
        self.vectors, self._alpha, self._beta = vectors, alpha, beta
        self._relative = threshold == "relative"
        self.settings = {"alpha": alpha, "beta": beta, "threshold": threshold}
        self.graph = lru_cache(_KEPT)(self.build)
        # Of the relative threshold the neighbours of a word are the same in every network.
        self._near: dict[int, Neighbours] = {}
        self._values: dict[tuple[str | None, Callable[[Any, str], float]], float] = {}

    def prepare(self, words: Iterable[str]) -> None:
        """Find the neighbours for the networks of many words at once: faster, else the same."""
        level = {at for word in words if (at := self.vectors.place(word)) is not None}
        for _ in range(self._alpha + 1 if self._relative else 0):
            near = self._neighbours(sorted(level), {})
            level = {other for _, others, _ in near for other in others.tolist()}

    def _neighbours(
        self, places: Sequence[int], joined: Mapping[int, float]
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
        """Yield each place with its neighbours and how similar they are."""
        missing = [place for place in places if place not in self._near]
        for place, similar in self.vectors.blocks(missing):
            similar[place] = -np.inf
            limit = self._beta * (float(similar.max()) if self._relative else joined[place])
            others = np.flatnonzero((similar >= limit) & (similar > 0))
            if self._relative:
                self._near[place] = (others, similar[others])
            else:
                yield place, others, similar[others]
        for place in places if self._relative else ():
            yield place, *self._near[place]

    def build(self, word: str) -> Any:
        """Return the network around a word, a ``networkx.Graph``."""
        with needing("an ego network", "ego-networks"):
            from networkx import Graph

        graph = Graph()
        graph.add_node(word)
        ego = self.vectors.place(word)
        if ego is None:
            return graph
        names = self.vectors.words
        # Place of a word to the similarity by which it was joined.
        joined: dict[int, float] = {ego: 1.0}
        level = [ego]
        for _ in range(self._alpha + 1):
            reached: dict[int, float] = {}
            for place, others, weights in self._neighbours(level, joined):
                for other, weight in zip(others.tolist(), weights.tolist(), strict=True):
                    graph.add_edge(names[place], names[other], weight=weight)
                    if other not in joined:
                        reached[other] = max(weight, reached.get(other, 0.0))
            joined.update(reached)
            level = list(reached)
        return graph

    def value(self, word: str, measure: Callable[[Any, str], float]) -> float:
        """Return a measure of the network around a word."""
        # All words without a vector stand alone: they take no memory.
        key = (None if self.vectors.place(word) is None else word, measure)
        if key not in self._values:
            self._values[key] = float(measure(self.graph(word), word))
        return self._values[key]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what is saved: the settings, and the words with their vectors."""
        words = "\n".join(self.vectors.words).encode("utf-8", "surrogateescape")
        tensors: dict[str, NDArray[Any]] = {
            "words": np.frombuffer(words, np.uint8),
            "vectors": self.vectors.array,
        }
        return dict(self.settings), tensors

    @classmethod
    def from_state(
        cls, folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Any]
    ) -> Self:
        """Return the networks that ``state`` described."""
        words = bytes(tensors["words"]).decode("utf-8", "surrogateescape").split("\n")
        vectors = WordVectors(words, tensors["vectors"])
        return cls(vectors, *(config[name] for name in ("alpha", "beta", "threshold")))
