"""Evaluate module `pqpp/conqa_relevance`: relevance of images from crowd workers' votes."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import conqa_relevance


class ConqaRelevance(modules.base(), function=conqa_relevance, inputs=forms.VOTES):
    """Share of relevant images, with the label of every image."""
