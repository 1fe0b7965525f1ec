"""Evaluate module `pqpp/hit_rate_at_k`: whether any of the first k documents is relevant."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import hit_rate_at_k


class HitRateAtK(modules.base(), function=hit_rate_at_k, inputs=forms.RANKINGS):
    """Mean hit rate at k over queries, with the value of every query."""
