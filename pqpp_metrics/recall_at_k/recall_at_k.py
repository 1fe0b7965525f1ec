"""Evaluate module `pqpp/recall_at_k`: the share of relevant documents found among the first k."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import recall_at_k


class RecallAtK(evaluate_module.RankingMetric):
    """Mean recall at k over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(recall_at_k, evaluate_module.RANKINGS, citations.TREC)

    def _compute(self, predictions, references, k=10, ties="expected", unretrieved=None):
        scores = recall_at_k(predictions, references, k=k, ties=ties, unretrieved=unretrieved)
        return evaluate_module.per_item("recall_at_k", scores)
