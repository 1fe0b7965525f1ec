"""Evaluate module `pqpp/paired_permutation`: permutation test of two predictors."""

from pqpp_metrics import forms, metric


class PairedPermutation(metric.get_base(__name__), inputs=forms.TWO_PREDICTORS):
    """Difference of two predictors on the same queries, with a permutation p-value."""
