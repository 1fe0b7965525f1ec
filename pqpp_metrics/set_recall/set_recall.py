"""Evaluate module `pqpp/set_recall`: recall of all retrieved documents, whatever their order."""

from pqpp_metrics import forms, modules


class SetRecall(modules.base(), inputs=forms.RANKINGS):
    """Mean recall of retrieved sets over queries, with the value of every query."""
