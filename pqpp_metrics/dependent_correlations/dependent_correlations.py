"""Evaluate module `pqpp/dependent_correlations`: whether two predictors correlate differently."""

from pqpp_metrics import forms, modules


class DependentCorrelations(modules.base(), inputs=forms.TWO_PREDICTORS):
    """Difference of two correlations with the same references, with Williams' or Steiger's test."""
