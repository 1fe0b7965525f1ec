"""Evaluate module `pqpp/heatmap_mse`: mean squared error of heatmaps."""

from pqpp_metrics import forms, metric


class HeatmapMse(metric.get_base(__name__), inputs=forms.MAPS, each="map"):
    """Mean squared error over maps, with the value of every map."""
