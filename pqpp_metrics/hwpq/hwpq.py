"""Evaluate module `pqpp/hwpq`: weighted pairs of positive and negative questions."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import hwpq


class Hwpq(
    modules.base(), function=hwpq, inputs=forms.QUESTIONNAIRES, each="image", kept=("levels",)
):
    """Mean HWPQ score over images, with every image's score and levels."""
