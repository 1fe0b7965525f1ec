"""Evaluate module `pqpp/inferred_average_precision`: AP from a sample of judgments."""

from pqpp_metrics import forms, modules


class InferredAveragePrecision(modules.base(), inputs=forms.RANKINGS):
    """Mean infAP over queries, with the value of every query."""
