"""Evaluate module `pqpp/rmse_qpp`: root mean squared error of predicted performance."""

from pqpp_metrics import forms, metric


class RmseQpp(metric.get_base(__name__), inputs=forms.PAIRS):
    """Root mean squared error with p-value and confidence interval."""
