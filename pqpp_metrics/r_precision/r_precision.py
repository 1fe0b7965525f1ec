"""Evaluate module `pqpp/r_precision`: precision at the number of relevant documents."""

from pqpp_metrics import forms, metric


class RPrecision(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean R-precision over queries, with the value of every query."""
