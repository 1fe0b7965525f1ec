"""Evaluate module `pqpp/hwpq`: weighted pairs of positive and negative questions."""

from pqpp_metrics import forms, metric


class Hwpq(metric.get_base(__name__), inputs=forms.QUESTIONNAIRES, each="image", kept=("levels",)):
    """Mean HWPQ score over images, with every image's score and levels."""
