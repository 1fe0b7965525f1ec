"""Ego-network predictors: how specific the words of a prompt are, seen from their neighbours.

``vectors`` reads word embeddings of any source, ``network`` builds the graph around a word,
``measures`` measures it.
"""

from pqpp_models.measures.ego_network.measures import (
    AGGREGATIONS,
    MEASURES,
    ego_network_values,
    network_words,
)
from pqpp_models.measures.ego_network.network import EgoNetworks, ego_network
from pqpp_models.measures.ego_network.vectors import WordVectors, load_word_vectors

__all__ = [
    "AGGREGATIONS",
    "MEASURES",
    "EgoNetworks",
    "WordVectors",
    "ego_network",
    "ego_network_values",
    "load_word_vectors",
    "network_words",
]
