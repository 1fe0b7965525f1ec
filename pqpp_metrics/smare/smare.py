"""Evaluate module `pqpp/smare`: scaled mean absolute rank error of predicted performance."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import smare


class Smare(modules.base(), function=smare, inputs=forms.PAIRS):
    """Mean scaled rank error, with p-value, interval and the error of every query."""
