"""The ego network of a word, and the measures of how specific the word is in it.

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

========================== ======================================================================
name                       value for the ego
========================== ======================================================================
``edge_count``             edges of the network
``edge_weight_sum``        sum of their weights
``inverse_edge_frequency`` ln(edges / edges of the ego); 0.0 without edges
``degree_centrality``      edges of the ego (a count, as in the published code)
``closeness_centrality``   other words / sum of their distances in edges; 0.0 without edges
``betweenness_centrality`` mean, over pairs of other words, of the share of their shortest paths
                           that lead over the ego; 0.0 without pairs
``pagerank``               PageRank with damping 0.85 over the weights; 1.0 without edges
========================== ======================================================================

Source: PQPP paper, appendix 12, and its authors' public repository; Arabzadeh, Zarrinkalam,
Jovanovic and Bagheri, "Neural embedding-based metrics for pre-retrieval query performance
prediction", ECIR 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import MissingResourceError, PredictorError, UnknownPredictorError
from pqpp_models.measures import nltk_resources
from pqpp_models.measures.ego_network.vectors import WordVectors

Neighbours = tuple[NDArray[np.int64], NDArray[np.float32]]
THRESHOLDS = ("relative", "absolute")
_KEPT = 2048
"""So many networks are kept for words that come again."""


def ego_network(
    vectors: WordVectors,
    word: str,
    alpha: int = 2,
    beta: float = 0.99,
    threshold: str = "relative",
) -> Any:
    """Build the network around a word.

    Args:
        vectors: the embedding.
        word: the ego; one without a vector stands alone.
        alpha: the depth, at least 0.
        beta: the threshold, from 0 to 1.
        threshold: ``"relative"`` or ``"absolute"``.

    Returns:
        A ``networkx.Graph`` of words, its edges with ``weight``.

    Raises:
        PredictorError: an argument is out of its range.
        MissingResourceError: networkx is not installed.

    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> sorted(map(sorted, ego_network(vectors, "cat", alpha=1, beta=0.9).edges))
    [['cat', 'dog']]
    >>> sorted(map(sorted, ego_network(vectors, "cat", alpha=1, beta=0.7).edges))
    [['car', 'dog'], ['cat', 'dog']]
    """
    return EgoNetworks(vectors, alpha, beta, threshold).build(word)


def _check(alpha: int, beta: float, threshold: str) -> None:
    if isinstance(alpha, bool) or not isinstance(alpha, int) or alpha < 0:
        raise PredictorError(f"`alpha` is {alpha!r}; it must be a whole number from 0 on")
    if not 0 <= beta <= 1:
        raise PredictorError(f"`beta` is {beta!r}; it must be from 0 to 1")
    if threshold not in THRESHOLDS:
        raise PredictorError(
            f"`threshold` is {threshold!r}; it must be one of {', '.join(THRESHOLDS)}"
        )


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingResourceError(
            "ego networks need networkx, which is not installed; run: pip install networkx"
        ) from None
    return networkx


def _inverse_edge_frequency(graph: Any, ego: str) -> float:
    own = graph.degree(ego)
    return math.log(graph.number_of_edges() / own) if own else 0.0


MEASURES: dict[str, Callable[[Any, str], float]] = {
    "edge_count": lambda graph, ego: graph.number_of_edges(),
    "edge_weight_sum": lambda graph, ego: graph.size(weight="weight"),
    "inverse_edge_frequency": _inverse_edge_frequency,
    "degree_centrality": lambda graph, ego: graph.degree(ego),
    "closeness_centrality": lambda graph, ego: _networkx().closeness_centrality(graph, u=ego),
    "betweenness_centrality": lambda graph, ego: _networkx().betweenness_centrality(graph)[ego],
    "pagerank": lambda graph, ego: _networkx().pagerank(graph, weight="weight")[ego],
}
"""The measures by name; each takes a network and its ego."""

AGGREGATIONS: Mapping[str, Callable[[NDArray[np.float64]], Any]] = {
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "sum": np.sum,
    "std": np.std,
}
"""From the words of a prompt to the prompt; the PQPP authors take the mean, std is population."""


class EgoNetworks:
    """The networks of one embedding at one setting, kept for words that come again.

    Args:
        vectors: the embedding.
        alpha: the depth.
        beta: the threshold.
        threshold: ``"relative"`` or ``"absolute"``.

    Raises:
        PredictorError: an argument is out of its range.
    """

    def __init__(
        self,
        vectors: WordVectors,
        alpha: int = 2,
        beta: float = 0.99,
        threshold: str = "relative",
    ) -> None:
        _check(alpha, beta, threshold)
        self.vectors, self._alpha, self._beta = vectors, alpha, beta
        self._relative = threshold == "relative"
        self.settings = {"alpha": alpha, "beta": beta, "threshold": threshold}
        self.graph = lru_cache(_KEPT)(self.build)
        # Of the relative threshold the neighbours of a word are the same in every network.
        self._near: dict[int, Neighbours] = {}
        self._values: dict[tuple[str, str], float] = {}

    def prepare(self, words: Iterable[str]) -> None:
        """Find the neighbours for the networks of many words at once: faster, else the same."""
        level = {self.vectors.place(word) for word in words} - {None}
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
        graph = _networkx().Graph()
        graph.add_node(word)
        ego = self.vectors.place(word)
        if ego is None:
            return graph
        names = self.vectors.words
        # Place of a word to the similarity by which it was joined.
        joined: dict[int, float] = {ego: 1.0}
        level = [ego]
        for _ in range(self._alpha + 1):
            found: dict[int, float] = {}
            for place, others, weights in self._neighbours(level, joined):
                for other, weight in zip(others.tolist(), weights.tolist(), strict=True):
                    graph.add_edge(names[place], names[other], weight=weight)
                    if other not in joined:
                        found[other] = max(weight, found.get(other, 0.0))
            joined.update(found)
            level = list(found)
        return graph

    def value(self, word: str, measure: str) -> float:
        """Return a measure of the network around a word."""
        if self.vectors.place(word) is None:
            # A word alone: nothing is kept, so that unknown words take no memory.
            return 1.0 if measure == "pagerank" else 0.0
        key = (word, measure)
        if key not in self._values:
            self._values[key] = float(MEASURES[measure](self.graph(word), word))
        return self._values[key]


def terms_of(prompt: str) -> list[str]:
    """Split a prompt into the words that have a network: lower-case, letters only, no stopwords.

    Tokens are NLTK's, stopwords NLTK's English ones, as in the PQPP authors' code.

    Raises:
        MissingResourceError: NLTK's data is not installed.
    """
    split, stopwords = nltk_resources.tokenizer(), nltk_resources.stopwords()
    words = (token.lower() for token in split(prompt) if token.isalpha())
    return [word for word in words if word not in stopwords]


def ego_network_values(
    words: Iterable[Sequence[str]],
    networks: EgoNetworks,
    names: Sequence[str] | None = None,
    aggregation: str = "mean",
) -> NDArray[np.float64]:
    """Compute ego-network measures of some prompts.

    Args:
        words: the words of each prompt; one that comes twice counts twice. A word without a vector
            stands alone in its network and counts with the values of the table above.
        networks: of an embedding.
        names: names of ``MEASURES``; all seven if left out.
        aggregation: a name of ``AGGREGATIONS``.

    Returns:
        A float64 array of shape ``(prompts, names)``; 0.0 for a prompt without words.

    Raises:
        UnknownPredictorError: a measure is not known.
        PredictorError: the aggregation is not known.

    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> networks = EgoNetworks(vectors, alpha=0, beta=0.5)
    >>> ego_network_values([["cat", "dog"], []], networks, ["edge_count"]).tolist()
    [[1.5], [0.0]]
    """
    chosen = tuple(MEASURES) if names is None else tuple(names)
    for name in chosen:
        if name not in MEASURES:
            raise UnknownPredictorError(
                f"no ego-network measure is called {name!r}; available: {', '.join(MEASURES)}"
            )
    if aggregation not in AGGREGATIONS:
        raise PredictorError(
            f"`aggregation` is {aggregation!r}; it must be one of {', '.join(AGGREGATIONS)}"
        )
    aggregate = AGGREGATIONS[aggregation]
    rows = [list(row) for row in words]
    networks.prepare({word for row in rows for word in row})
    values = np.zeros((len(rows), len(chosen)))
    for at, row in enumerate(rows):
        for column, name in enumerate(chosen):
            if row:
                found = np.array([networks.value(word, name) for word in row])
                values[at, column] = aggregate(found)
    return values
