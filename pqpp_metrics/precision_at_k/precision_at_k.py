"""Evaluate module `pqpp/precision_at_k`: the share of relevant documents among the first k."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import precision_at_k


class PrecisionAtK(evaluate_module.RankingMetric):
    """Mean precision at k over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(precision_at_k, evaluate_module.RANKINGS, citations.PQPP)

    def _compute(self, predictions, references, k=10, ties="expected"):
        scores = precision_at_k(predictions, references, k=k, ties=ties)
        return evaluate_module.per_item("precision_at_k", scores)
