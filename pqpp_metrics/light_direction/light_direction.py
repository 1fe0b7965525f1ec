"""Evaluate module `pqpp/light_direction`: consistency of the direction of light."""

from pqpp_metrics import forms, metric


class LightDirection(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean light consistency over images, with the value of every image."""
