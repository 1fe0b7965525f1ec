"""Ego-network measures: how specific a word is in the network of its neighbours.

A word with many close neighbours counts as specific. The network around a word (the ego) contains
the words that are similar to it. Edges are undirected, and an edge's weight is the cosine of its
two words.

* ``alpha``, the depth: 0 joins the ego with its neighbours; each further level joins the words of
  the previous level with their own neighbours. The PQPP paper's authors tried 1 and 2.
* ``beta``, the threshold, from 0 to 1. With ``threshold="relative"``, a neighbour of a word has at
  least ``beta`` times the similarity of the word's most similar neighbour. This is the rule of the
  PQPP authors' published code and of the original work; the PQPP authors tried .95, .975 and .99.
  With ``threshold="absolute"``, a neighbour of the ego has at least the similarity ``beta``, and a
  neighbour of any other word at least ``beta`` times the similarity by which that word was joined.
  This is the rule in the PQPP paper's appendix. A word that is reached over several edges of one
  level is joined by the strongest edge.

Only similarities above 0 join words. A low ``beta`` on a large vocabulary makes networks so large
that betweenness takes very long.

Source: PQPP paper, appendix 12, and its authors' public repository; Arabzadeh, Zarrinkalam,
Jovanovic and Bagheri, "Neural embedding-based metrics for pre-retrieval query performance
prediction", ECIR 2020.

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
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.extras import require_extra
from pqpp_models.errors import PredictorError
from pqpp_models.measures import nltk_resources
from pqpp_models.measures.measure import Evidence, make_measures
from pqpp_models.measures.word_vectors import WordVectors, load_word_vectors

Neighbours = tuple[NDArray[np.int64], NDArray[np.float32]]
THRESHOLDS = ("relative", "absolute")
_CACHE_SIZE = 2048
"""The maximum number of cached networks."""


class EgoNetworks:
    """The ego networks of words in one embedding, cached.

    Args:
        vectors: the embedding.
        alpha: the depth, at least 0.
        beta: the threshold, from 0 to 1.
        threshold: ``"relative"`` or ``"absolute"``.

    Raises:
        PredictorError: an argument is out of its range.

    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> sorted(map(sorted, EgoNetworks(vectors, alpha=1, beta=0.7).build_network("cat").edges))
    [['car', 'dog'], ['cat', 'dog']]
    """

    def __init__(
        self, vectors: WordVectors, alpha: int = 2, beta: float = 0.99, threshold: str = "relative"
    ) -> None:
        if alpha < 0 or not 0 <= beta <= 1:
            values = f"got {alpha} and {beta}"
            raise PredictorError(f"`alpha` must be at least 0, `beta` from 0 to 1; {values}")
        if threshold not in THRESHOLDS:
            raise PredictorError(f"`threshold` must be relative or absolute; got {threshold!r}")
        self.vectors, self._alpha, self._beta = vectors, alpha, beta
        self._relative = threshold == "relative"
        self.graph = lru_cache(_CACHE_SIZE)(self.build_network)
        # With the relative threshold, a word's neighbours are the same in every network.
        self._neighbours: dict[int, Neighbours] = {}
        self._values: dict[tuple[str | None, Callable[[Any, str], float]], float] = {}

    def cache_neighbours(self, words: Iterable[str]) -> None:
        """Find and cache the neighbours of many words at once, faster than one by one."""
        level = {i for word in words if (i := self.vectors.get_index(word)) is not None}
        for _ in range(self._alpha + 1 if self._relative else 0):
            neighbours = self._find_neighbours(sorted(level), {})
            level = {other for others, _ in neighbours.values() for other in others.tolist()}

    def _find_neighbours(
        self, indices: Sequence[int], similarities: Mapping[int, float]
    ) -> dict[int, Neighbours]:
        neighbours = {i: self._neighbours[i] for i in indices if i in self._neighbours}
        uncached = [index for index in indices if index not in neighbours]
        for index, similar in self.vectors.iterate_blocks(uncached):
            similar[index] = -np.inf
            limit = self._beta * (float(similar.max()) if self._relative else similarities[index])
            others = np.flatnonzero((similar >= limit) & (similar > 0))
            neighbours[index] = others, similar[others]
        if self._relative:
            self._neighbours |= neighbours
        return neighbours

    def build_network(self, word: str) -> Any:
        """Build the network around a word as a ``networkx.Graph``."""
        with require_extra("an ego network", "ego-networks"):
            from networkx import Graph

        graph = Graph()
        graph.add_node(word)
        ego = self.vectors.get_index(word)
        if ego is None:
            return graph
        names = self.vectors.words
        # By index of a word: the similarity by which it was joined.
        similarities: dict[int, float] = {ego: 1.0}
        level = [ego]
        for _ in range(self._alpha + 1):
            reached: dict[int, float] = {}
            neighbours = self._find_neighbours(level, similarities)
            for index in level:
                others, weights = (array.tolist() for array in neighbours[index])
                for other, weight in zip(others, weights, strict=True):
                    graph.add_edge(names[index], names[other], weight=weight)
                    if other not in similarities:
                        reached[other] = max(weight, reached.get(other, 0.0))
            similarities.update(reached)
            level = list(reached)
        return graph

    def measure_word(self, word: str, measure: Callable[[Any, str], float]) -> float:
        """Return a measure of a word's network, and cache it."""
        # Words without a vector have equal networks, so they share one entry.
        key = (None if self.vectors.get_index(word) is None else word, measure)
        if key not in self._values:
            self._values[key] = float(measure(self.graph(word), word))
        return self._values[key]


def _get_networkx() -> Any:
    import networkx

    return networkx


EVIDENCE = Evidence(
    data="word vectors",
    variable="PQPP_WORD_VECTORS",
    file_format="a file of word vectors (word2vec .bin or .vec)",
    # The seven measures are usually computed one after the other with one embedding.
    open=lru_cache(2)(lambda path: EgoNetworks(load_word_vectors(path))),
)


def split_network_words(prompt: str) -> list[str]:
    """Split a prompt into the words that have a network: lower-case, letters only, no stopwords.

    NLTK tokenizes the prompt, and the stopwords are NLTK's for English, as in the PQPP authors'
    code.

    Raises:
        PredictorError: NLTK's data is not installed.
    """
    split, stopwords = nltk_resources.load_tokenizer(), nltk_resources.load_stopwords()
    words = (token.lower() for token in split(prompt) if token.isalpha())
    return [word for word in words if word not in stopwords]


def score_prompts(
    measure: Callable[[Any, str], float], prompts: Iterable[str], networks: EgoNetworks
) -> NDArray[np.float64]:
    """Return an ego-network measure of each prompt: the mean over its words, 0.0 without words.

    Args:
        measure: a function of a network and its ego.
        prompts: the prompts; each occurrence of a word counts.
        networks: the ego networks; the network of a word without a vector is the word alone.
    """
    rows = [split_network_words(prompt) for prompt in prompts]
    networks.cache_neighbours({word for row in rows for word in row})
    values = (np.array([networks.measure_word(word, measure) for word in row]) for row in rows)
    return np.array([value.mean() if len(value) else 0.0 for value in values], np.float64)


_GRAPH_MEASURES: dict[str, Callable[[Any, str], float]] = {
    "edge_count": lambda graph, ego: graph.number_of_edges(),
    "edge_weight_sum": lambda graph, ego: graph.size(weight="weight"),
    "inverse_edge_frequency": lambda graph, ego: (
        math.log(graph.number_of_edges() / graph.degree(ego)) if graph.degree(ego) else 0.0
    ),
    "degree_centrality": lambda graph, ego: graph.degree(ego),
    "closeness_centrality": lambda graph, ego: _get_networkx().closeness_centrality(graph, u=ego),
    "betweenness_centrality": lambda graph, ego: _get_networkx().betweenness_centrality(graph)[ego],
    "pagerank": lambda graph, ego: _get_networkx().pagerank(graph, weight="weight")[ego],
}
MEASURES = make_measures(
    {name: partial(score_prompts, function) for name, function in _GRAPH_MEASURES.items()},
    nltk=("punkt_tab", "stopwords"),
    evidence=EVIDENCE,
)
"""The measures; each accepts prompts and the networks of an embedding."""
