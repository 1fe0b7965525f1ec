"""Evaluate module `pqpp/penetration`: spatial consistency of overlapping objects."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import penetration


class Penetration(
    modules.base(), function=penetration, inputs=forms.OVERLAPS, each="image", kept=()
):
    """Mean spatial consistency over images, with the value of every image."""
