"""Evaluate module `pqpp/conqa_relevance`: relevance of images from crowd workers' votes."""

from pqpp_metrics import forms, metric


class ConqaRelevance(metric.get_base(__name__), inputs=forms.VOTES):
    """Share of relevant images, with the label of every image."""
