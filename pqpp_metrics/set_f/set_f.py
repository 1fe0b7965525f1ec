"""Evaluate module `pqpp/set_f`: F of all retrieved documents, whatever their order."""

from pqpp_metrics import forms, modules


class SetF(modules.base(), inputs=forms.RANKINGS):
    """Mean F of retrieved sets over queries, with the value of every query."""
