"""Evaluate module `pqpp/recall_at_k`: the share of relevant documents found among the first k."""

from pqpp_metrics import forms, metric


class RecallAtK(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean recall at k over queries, with the value of every query."""
