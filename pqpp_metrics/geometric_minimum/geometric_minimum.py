"""Evaluate module `pqpp/geometric_minimum`: the weakest of six geometric cues."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import geometric_minimum


class GeometricMinimum(modules.base(), function=geometric_minimum, inputs=forms.SUB_SCORES):
    """Mean of the lowest cue over images, with the value of every image."""
