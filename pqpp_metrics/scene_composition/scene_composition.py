"""Evaluate module `pqpp/scene_composition`: coverage and consistency of a composed scene."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import scene_composition


class SceneComposition(modules.base(), function=scene_composition, inputs=forms.SCENES):
    """Mean composition score over images, with the value of every image."""
