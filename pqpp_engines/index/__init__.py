"""Search collections of images by text: embeddings, an index of them, and retrieval runs."""

from pqpp_engines.index.encoders import ImageTextEncoder
from pqpp_engines.index.index import Index, build_index
from pqpp_engines.index.labels import find_candidates

__all__ = ["ImageTextEncoder", "Index", "build_index", "find_candidates"]
