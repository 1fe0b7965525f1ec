"""Evaluate module `pqpp/hit_rate_at_k`: whether any of the first k documents is relevant."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import hit_rate_at_k


class HitRateAtK(evaluate_module.RankingMetric):
    """Mean hit rate at k over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(hit_rate_at_k, evaluate_module.RANKINGS, citations.CONQA)

    def _compute(self, predictions, references, k=10, ties="expected"):
        scores = hit_rate_at_k(predictions, references, k=k, ties=ties)
        return evaluate_module.per_item("hit_rate_at_k", scores)
