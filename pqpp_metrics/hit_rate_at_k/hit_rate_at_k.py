"""Evaluate module `pqpp/hit_rate_at_k`: whether any of the first k documents is relevant."""

from pqpp_metrics import forms, metric


class HitRateAtK(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean hit rate at k over queries, with the value of every query."""
