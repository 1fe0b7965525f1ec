"""Evaluate module `pqpp/r_precision`: precision at the number of relevant documents."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import r_precision


class RPrecision(evaluate_module.RankingMetric):
    """Mean R-precision over queries, with the value of every query."""

    def _info(self):
        return evaluate_module.info(r_precision, evaluate_module.RANKINGS, citations.CONQA)

    def _compute(self, predictions, references, ties="expected", unretrieved=None):
        scores = r_precision(predictions, references, ties=ties, unretrieved=unretrieved)
        return evaluate_module.per_item("r_precision", scores)
