"""Evaluate module `pqpp/light_direction`: consistency of the direction of light."""

from pqpp_metrics import forms, metric


class LightDirection(metric.base(), inputs=forms.VECTORS):
    """Mean light consistency over images, with the value of every image."""
