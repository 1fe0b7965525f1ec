"""Evaluate module `pqpp/inferred_average_precision`: AP from a sample of judgments."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import inferred_average_precision


class InferredAveragePrecision(
    modules.base(), function=inferred_average_precision, inputs=forms.RANKINGS
):
    """Mean infAP over queries, with the value of every query."""
