"""Evaluate module `pqpp/average_precision`: mean precision at the ranks of relevant documents."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import average_precision


class AveragePrecision(evaluate_module.RankingMetric):
    """Mean average precision over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(average_precision, evaluate_module.RANKINGS, citations.TREC)

    def _compute(self, predictions, references, k=None, ties="expected", unretrieved=None):
        scores = average_precision(predictions, references, k=k, ties=ties, unretrieved=unretrieved)
        return evaluate_module.per_item("average_precision", scores)
