"""Evaluate module `pqpp/paired_permutation`: permutation test of two predictors."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import paired_permutation


class PairedPermutation(modules.base(), function=paired_permutation, inputs=forms.TWO_PREDICTORS):
    """Difference of two predictors on the same queries, with a permutation p-value."""
