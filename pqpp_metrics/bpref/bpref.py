"""Evaluate module `pqpp/bpref`: judged irrelevant documents above relevant ones."""

from pqpp_metrics import forms, modules


class Bpref(modules.base(), inputs=forms.RANKINGS):
    """Mean bpref over queries, with the value of every query."""
