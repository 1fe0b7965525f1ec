"""Evaluate module `pqpp/penetration`: spatial consistency of overlapping objects."""

from pqpp_metrics import forms, metric


class Penetration(metric.get_base(__name__), inputs=forms.OVERLAPS, each="image", kept=()):
    """Mean spatial consistency over images, with the value of every image."""
