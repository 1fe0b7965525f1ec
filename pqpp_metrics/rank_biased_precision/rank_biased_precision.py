"""Evaluate module `pqpp/rank_biased_precision`: what a user sees who goes on with chance p."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import rank_biased_precision


class RankBiasedPrecision(modules.base(), function=rank_biased_precision, inputs=forms.RANKINGS):
    """Mean RBP over queries, with the value of every query."""
