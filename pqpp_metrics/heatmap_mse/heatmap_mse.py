"""Evaluate module `pqpp/heatmap_mse`: mean squared error of heatmaps."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import heatmap_mse


class HeatmapMse(modules.base(), function=heatmap_mse, inputs=forms.MAPS, each="map"):
    """Mean squared error over maps, with the value of every map."""
