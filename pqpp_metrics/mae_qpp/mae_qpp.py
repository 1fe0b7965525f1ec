"""Evaluate module `pqpp/mae_qpp`: mean absolute error of predicted performance."""

from pqpp_metrics import forms, metric


class MaeQpp(metric.base(), inputs=forms.PAIRS):
    """Mean absolute error with confidence interval."""
