"""Collections of images that can be searched by text: embeddings, an index over them, and runs."""

from pqpp_engines.index.build import build_index
from pqpp_engines.index.encoders import ImageTextEncoder
from pqpp_engines.index.index import Index
from pqpp_engines.index.labels import preliminary_relevance
from pqpp_engines.index.plan import Plan, plan_for

__all__ = ["ImageTextEncoder", "Index", "Plan", "build_index", "plan_for", "preliminary_relevance"]
