"""Evaluate module `pqpp/recall_at_k`: the share of relevant documents found among the first k."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import recall_at_k


class RecallAtK(modules.base(), function=recall_at_k, inputs=forms.RANKINGS):
    """Mean recall at k over queries, with the value of every query."""
