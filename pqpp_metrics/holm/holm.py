"""Evaluate module `pqpp/holm`: Holm's correction of a table of p-values."""

from pqpp_metrics import forms, metric


class Holm(metric.get_base(__name__), inputs=forms.P_VALUES):
    """Smallest adjusted p-value, with the adjusted p-value of every test."""
