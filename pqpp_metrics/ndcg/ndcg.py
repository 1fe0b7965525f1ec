"""Evaluate module `pqpp/ndcg`: discounted gains over the best possible ones."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import ndcg


class Ndcg(evaluate_module.RankingMetric):
    """Mean nDCG over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(ndcg, evaluate_module.RANKINGS, citations.CONQA)

    def _compute(
        self, predictions, references, k=None, gains="linear", ties="expected", unretrieved=None
    ):
        scores = ndcg(predictions, references, k=k, gains=gains, ties=ties, unretrieved=unretrieved)
        return evaluate_module.per_item("ndcg", scores)
