"""Evaluate module `pqpp/mann_whitney`: whether one group of queries is harder than another."""

from pqpp_metrics import forms, metric


class MannWhitney(
    metric.get_base(__name__), inputs=forms.TWO_GROUPS, each="comparison", takes_groups=True
):
    """Mann-Whitney U and relative improvement of each comparison; the main value is the mean U."""
