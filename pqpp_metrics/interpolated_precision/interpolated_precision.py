"""Evaluate module `pqpp/interpolated_precision`: the best precision with at least a recall."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import interpolated_precision


class InterpolatedPrecision(modules.base(), function=interpolated_precision, inputs=forms.RANKINGS):
    """Mean interpolated precision over queries, with the value of every query."""
