"""Evaluate module `pqpp/heatmap_mse`: mean squared error of heatmaps."""

from pqpp_metrics import forms, modules


class HeatmapMse(modules.base(), inputs=forms.MAPS, each="map"):
    """Mean squared error over maps, with the value of every map."""
