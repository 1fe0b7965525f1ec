"""Evaluate module `pqpp/text_rendering`: how faithfully images show a text."""

from pqpp_metrics import forms, metric


class TextRendering(metric.get_base(__name__), inputs=forms.TEXT_PAIRS):
    """Mean text rendering score over images, with every image's score and both parts."""
