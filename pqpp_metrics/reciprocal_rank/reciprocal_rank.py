"""Evaluate module `pqpp/reciprocal_rank`: 1 / the rank of the first relevant document."""

from pqpp_metrics import forms, metric


class ReciprocalRank(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean reciprocal rank over queries, with the value of every query."""
