"""Evaluate module `pqpp/dependent_correlations`: whether two predictors correlate differently."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import dependent_correlations


class DependentCorrelations(
    modules.base(), function=dependent_correlations, inputs=forms.TWO_PREDICTORS
):
    """Difference of two correlations with the same references, with Williams' or Steiger's test."""
