"""Evaluate module `pqpp/ndcg`: discounted gains over the best possible ones."""

from pqpp_metrics import forms, metric


class Ndcg(metric.get_base(__name__), inputs=forms.RANKINGS):
    """Mean nDCG over queries, with the value of every query."""
