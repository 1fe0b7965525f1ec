"""Evaluate module `pqpp/text_rendering`: how faithfully images show a text."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import text_rendering


class TextRendering(modules.base(), function=text_rendering, inputs=forms.TEXTS):
    """Mean text rendering score over images, with every image's score and both parts."""
