"""Evaluate module `pqpp/precision_at_k`: the share of relevant documents among the first k."""

from pqpp_metrics import forms, metric


class PrecisionAtK(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean precision at k over queries, with the value of every query."""
