"""Evaluate module `pqpp/interpolated_precision`: the best precision with at least a recall."""

from pqpp_metrics import forms, modules


class InterpolatedPrecision(modules.base(), inputs=forms.RANKINGS):
    """Mean interpolated precision over queries, with the value of every query."""
