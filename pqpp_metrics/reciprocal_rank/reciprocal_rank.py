"""Evaluate module `pqpp/reciprocal_rank`: 1 / the rank of the first relevant document."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import reciprocal_rank


class ReciprocalRank(evaluate_module.RankingMetric):
    """Mean reciprocal rank over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(reciprocal_rank, evaluate_module.RANKINGS, citations.PQPP)

    def _compute(self, predictions, references, k=None, ties="expected"):
        scores = reciprocal_rank(predictions, references, k=k, ties=ties)
        return evaluate_module.per_item("reciprocal_rank", scores)
