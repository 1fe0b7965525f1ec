"""Evaluate module `pqpp/ndcg`: discounted gains over the best possible ones."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import ndcg


class Ndcg(modules.base(), function=ndcg, inputs=forms.RANKINGS):
    """Mean nDCG over queries, with the value of every query."""
