"""Evaluate module `pqpp/richhf_heatmap`: RichHF's protocol for heatmaps."""

from pqpp_metrics import forms, metric


class RichhfHeatmap(metric.get_base(__name__), inputs=forms.MAPS):
    """MSE on all and on empty truths, saliency metrics on the others."""
