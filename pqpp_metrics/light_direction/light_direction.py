"""Evaluate module `pqpp/light_direction`: consistency of the direction of light."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import light_direction


class LightDirection(modules.base(), function=light_direction, inputs=forms.VECTORS):
    """Mean light consistency over images, with the value of every image."""
