"""Evaluate module `pqpp/scene_composition`: coverage and consistency of a composed scene."""

from pqpp_metrics import forms, metric


class SceneComposition(metric.get_base(__name__), inputs=forms.SCENES):
    """Mean composition score over images, with the value of every image."""
