"""Ego-network measures: how specific a word is in the network of its neighbours.

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
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.measures import nltk_resources
from pqpp_models.measures.ego_network.network import EgoNetworks
from pqpp_models.measures.ego_network.vectors import load_word_vectors
from pqpp_models.measures.measure import Evidence, measures_of


def _networkx() -> Any:
    import networkx

    return networkx


AGGREGATIONS = ("mean", "max", "min", "sum", "std")
"""From the words of a prompt to the prompt; the PQPP authors take the mean, std is population."""


# The seven measures are usually asked one after the other over one embedding.
@lru_cache(maxsize=2)
def _networks(path: str) -> EgoNetworks:
    return EgoNetworks(load_word_vectors(path))


EVIDENCE = Evidence(
    what="word vectors",
    variable="PQPP_WORD_VECTORS",
    form="a file of them (word2vec .bin or .vec, .npy or .safetensors with its words in a .txt "
    "beside it)",
    opened=_networks,
    state=EgoNetworks.state,
    load=EgoNetworks.from_state,
    told=lambda networks: (
        f"{len(networks.vectors.words):,} word vectors, whose licence is that of their source; "
        + ", ".join(f"{name} {value}" for name, value in networks.settings.items())
    ),
    licence="other",
)


def _of_prompts(
    measure: Callable[[Any, str], float], prompts: Iterable[str], networks: Any, **options: str
) -> NDArray[np.float64]:
    return ego_network_values(measure, map(network_words, prompts), networks, **options)


_GRAPHS: dict[str, Callable[[Any, str], float]] = {
    "edge_count": lambda graph, ego: graph.number_of_edges(),
    "edge_weight_sum": lambda graph, ego: graph.size(weight="weight"),
    "inverse_edge_frequency": lambda graph, ego: (
        math.log(graph.number_of_edges() / graph.degree(ego)) if graph.degree(ego) else 0.0
    ),
    "degree_centrality": lambda graph, ego: graph.degree(ego),
    "closeness_centrality": lambda graph, ego: _networkx().closeness_centrality(graph, u=ego),
    "betweenness_centrality": lambda graph, ego: _networkx().betweenness_centrality(graph)[ego],
    "pagerank": lambda graph, ego: _networkx().pagerank(graph, weight="weight")[ego],
}
MEASURES = measures_of(
    {name: partial(_of_prompts, one) for name, one in _GRAPHS.items()},
    nltk=("punkt_tab", "stopwords"),
    evidence=EVIDENCE,
    options={"aggregation": "mean"},
)
"""The measures; each takes prompts and the networks of an embedding."""


def network_words(prompt: str) -> list[str]:
    """Split a prompt into the words that have a network: lower-case, letters only, no stopwords.

    Tokens are NLTK's, stopwords NLTK's English ones, as in the PQPP authors' code.

    Raises:
        MissingResourceError: NLTK's data is not installed.
    """
    split, stopwords = nltk_resources.tokenizer(), nltk_resources.stopwords()
    words = (token.lower() for token in split(prompt) if token.isalpha())
    return [word for word in words if word not in stopwords]


def ego_network_values(
    measure: Callable[[Any, str], float],
    words: Iterable[Sequence[str]],
    networks: EgoNetworks,
    aggregation: str = "mean",
) -> NDArray[np.float64]:
    """Compute an ego-network measure of some prompts.

    Args:
        measure: of a network and its ego.
        words: the words of each prompt; one that comes twice counts twice. A word without a vector
            stands alone in its network and counts with the values of the table above.
        networks: of an embedding.
        aggregation: a name of ``AGGREGATIONS``.

    Returns:
        A float64 array of shape ``(prompts,)``; 0.0 for a prompt without words.

    Raises:
        PredictorError: the aggregation is not known.

    >>> from pqpp_models.measures.ego_network.vectors import WordVectors
    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> networks = EgoNetworks(vectors, alpha=0, beta=0.5)
    >>> edges = lambda graph, ego: graph.number_of_edges()
    >>> ego_network_values(edges, [["cat", "dog"], []], networks).tolist()
    [1.5, 0.0]
    """
    if aggregation not in AGGREGATIONS:
        raise PredictorError(
            f"`aggregation` is {aggregation!r}; it must be one of {', '.join(AGGREGATIONS)}"
        )
    aggregate = getattr(np, aggregation)
    rows = [list(row) for row in words]
    networks.prepare({word for row in rows for word in row})
    values = (np.array([networks.value(word, measure) for word in row]) for row in rows)
    return np.array([aggregate(value) if len(value) else 0.0 for value in values], np.float64)
