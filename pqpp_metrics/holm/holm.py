"""Evaluate module `pqpp/holm`: Holm's correction of a table of p-values."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import holm


class Holm(modules.base(), function=holm, inputs=forms.P_VALUES):
    """Smallest adjusted p-value, with the adjusted p-value of every test."""
