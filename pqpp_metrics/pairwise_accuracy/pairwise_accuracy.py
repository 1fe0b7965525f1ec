"""Evaluate module `pqpp/pairwise_accuracy`: how often a metric prefers what people prefer."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import pairwise_accuracy


class PairwiseAccuracy(evaluate_module.Metric):
    """Pairwise prediction accuracy, with the numbers of pairs."""

    def _info(self):
        return evaluate_module.info(
            pairwise_accuracy, evaluate_module.PREFERENCES, citations.VISTAR
        )

    def _compute(self, predictions, references, score_ties="wrong"):
        return pairwise_accuracy(predictions, references, score_ties=score_ties)
