"""Evaluate module `pqpp/rmse_qpp`: root mean squared error of predicted performance."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import rmse_qpp


class RmseQpp(modules.base(), function=rmse_qpp, inputs=forms.PAIRS):
    """Root mean squared error with p-value and confidence interval."""
