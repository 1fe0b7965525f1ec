"""Evaluate module `pqpp/geometric_minimum`: the weakest of six geometric cues."""

from pqpp_metrics import forms, metric


class GeometricMinimum(metric.get_base(__name__), inputs=forms.SUB_SCORES):
    """Mean of the lowest cue over images, with the value of every image."""
