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

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.measures import nltk_resources
from pqpp_models.measures.ego_network.network import EgoNetworks
from pqpp_models.measures.ego_network.vectors import VARIABLE, WordVectors, named_word_vectors
from pqpp_models.measures.measure import Evidence, Measure, chosen


def _inverse_edge_frequency(graph: Any, ego: str) -> float:
    own = graph.degree(ego)
    return math.log(graph.number_of_edges() / own) if own else 0.0


def _closeness(graph: Any, ego: str) -> float:
    from networkx import closeness_centrality

    return closeness_centrality(graph, u=ego)


def _betweenness(graph: Any, ego: str) -> float:
    from networkx import betweenness_centrality

    return betweenness_centrality(graph)[ego]


def _pagerank(graph: Any, ego: str) -> float:
    from networkx import pagerank

    return pagerank(graph, weight="weight")[ego]


AGGREGATIONS: Mapping[str, Callable[[NDArray[np.float64]], Any]] = {
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "sum": np.sum,
    "std": np.std,
}
"""From the words of a prompt to the prompt; the PQPP authors take the mean, std is population."""


# The seven measures are usually asked one after the other over one embedding.
@lru_cache(maxsize=2)
def _networks(vectors: WordVectors) -> EgoNetworks:
    return EgoNetworks(vectors)


EVIDENCE = Evidence(
    what="word vectors",
    variable=VARIABLE,
    named=lambda: _networks(named_word_vectors()),
    state=EgoNetworks.state,
    load=EgoNetworks.from_state,
    told=lambda networks: (
        f"{len(networks.vectors.words):,} word vectors, whose licence is that of their source; "
        + ", ".join(f"{name} {value}" for name, value in networks.settings.items())
    ),
    licence="other",
)
_SOURCE = "Arabzadeh et al., ECIR 2020; PQPP, appendix 12"


def _measure(compute: Callable[[Any, str], float], about: str) -> Measure:
    return Measure(
        compute,
        "easier",
        about,
        _SOURCE,
        nltk=("punkt_tab", "stopwords"),
        evidence=EVIDENCE,
        options={"aggregation": "mean"},
    )


MEASURES: dict[str, Measure] = {
    "edge_count": _measure(
        lambda graph, ego: graph.number_of_edges(), "edges among the neighbours of a word"
    ),
    "edge_weight_sum": _measure(
        lambda graph, ego: graph.size(weight="weight"), "summed similarity of a word's neighbours"
    ),
    "inverse_edge_frequency": _measure(
        _inverse_edge_frequency, "how few edges of a word's network are its own"
    ),
    "degree_centrality": _measure(lambda graph, ego: graph.degree(ego), "neighbours of a word"),
    "closeness_centrality": _measure(_closeness, "how near a word is to all of its network"),
    "betweenness_centrality": _measure(_betweenness, "how often a word lies between others"),
    "pagerank": _measure(_pagerank, "PageRank of a word in its network"),
}
"""The measures; each takes a network and its ego."""


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
    picked = chosen(names, MEASURES)
    if aggregation not in AGGREGATIONS:
        raise PredictorError(
            f"`aggregation` is {aggregation!r}; it must be one of {', '.join(AGGREGATIONS)}"
        )
    aggregate = AGGREGATIONS[aggregation]
    rows = [list(row) for row in words]
    networks.prepare({word for row in rows for word in row})
    table = np.zeros((len(rows), len(picked)))
    for at, row in enumerate(rows):
        for column, name in enumerate(picked):
            if row:
                compute = MEASURES[name].compute
                found = np.array([networks.value(word, compute) for word in row])
                table[at, column] = aggregate(found)
    return table
