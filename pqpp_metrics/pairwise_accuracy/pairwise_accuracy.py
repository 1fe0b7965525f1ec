"""Evaluate module `pqpp/pairwise_accuracy`: how often a metric prefers what people prefer."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import pairwise_accuracy


class PairwiseAccuracy(modules.base(), function=pairwise_accuracy, inputs=forms.PREFERENCES):
    """Pairwise prediction accuracy, with the numbers of pairs."""
