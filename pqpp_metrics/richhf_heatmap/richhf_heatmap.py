"""Evaluate module `pqpp/richhf_heatmap`: RichHF's protocol for heatmaps."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import richhf_heatmap


class RichhfHeatmap(modules.base(), function=richhf_heatmap, inputs=forms.MAPS):
    """MSE on all and on empty truths, saliency metrics on the others."""
