"""Evaluate module `pqpp/r_precision`: precision at the number of relevant documents."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import r_precision


class RPrecision(modules.base(), function=r_precision, inputs=forms.RANKINGS):
    """Mean R-precision over queries, with the value of every query."""
