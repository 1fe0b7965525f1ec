"""Evaluate module `pqpp/pairwise_accuracy`: how often a metric prefers what people prefer."""

from pqpp_metrics import forms, metric


class PairwiseAccuracy(metric.get_base(__name__), inputs=forms.PREFERENCES):
    """Pairwise prediction accuracy, with the numbers of pairs."""
