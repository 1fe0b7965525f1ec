"""Evaluate module `pqpp/rank_biased_precision`: what a user sees who goes on with chance p."""

from pqpp_metrics import forms, modules


class RankBiasedPrecision(modules.base(), inputs=forms.RANKINGS):
    """Mean RBP over queries, with the value of every query."""
