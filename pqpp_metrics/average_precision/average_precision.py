"""Evaluate module `pqpp/average_precision`: mean precision at the ranks of relevant documents."""

from pqpp_metrics import forms, metric


class AveragePrecision(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean average precision over queries, with the value of every query."""
