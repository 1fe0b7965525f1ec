"""Evaluate module `pqpp/smare`: scaled mean absolute rank error of predicted performance."""

from pqpp_metrics import forms, metric


class Smare(metric.get_base(__name__), inputs=forms.PAIRS):
    """Mean scaled rank error, with p-value, interval and the error of every query."""
