"""Evaluate module `pqpp/set_precision`: precision of all that was retrieved, without an order."""

from pqpp_metrics import forms, modules


class SetPrecision(modules.base(), inputs=forms.RANKINGS):
    """Mean precision of retrieved sets over queries, with the value of every query."""
