"""Ego-network predictors: how specific the words of a prompt are, seen from their neighbours.

``vectors`` reads word embeddings of any source, ``network`` builds the graph around a word and
measures it, ``predictor`` puts the measures behind the interface of all predictors.
"""

from pqpp_models.measures.ego_network.network import (
    AGGREGATIONS,
    MEASURES,
    EgoNetworks,
    ego_network,
    ego_network_values,
)
from pqpp_models.measures.ego_network.predictor import EgoNetworkPredictor
from pqpp_models.measures.ego_network.vectors import WordVectors, load_word_vectors

__all__ = [
    "AGGREGATIONS",
    "MEASURES",
    "EgoNetworkPredictor",
    "EgoNetworks",
    "WordVectors",
    "ego_network",
    "ego_network_values",
    "load_word_vectors",
]
