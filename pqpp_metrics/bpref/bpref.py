"""Evaluate module `pqpp/bpref`: judged irrelevant documents above relevant ones."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import bpref


class Bpref(modules.base(), function=bpref, inputs=forms.RANKINGS):
    """Mean bpref over queries, with the value of every query."""
