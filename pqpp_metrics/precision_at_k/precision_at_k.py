"""Evaluate module `pqpp/precision_at_k`: the share of relevant documents among the first k."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import precision_at_k


class PrecisionAtK(modules.base(), function=precision_at_k, inputs=forms.RANKINGS):
    """Mean precision at k over queries, with the value of every query."""
