"""Evaluate module `pqpp/keyword_f1`: precision, recall and F1 of misaligned keywords."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import keyword_f1


class KeywordF1(evaluate_module.Metric):
    """F1 of misaligned keywords over the tokens of all samples, with precision and recall."""

    def _info(self):
        return evaluate_module.info(keyword_f1, evaluate_module.KEYWORDS, citations.RICHHF)

    def _compute(self, predictions, references):
        return keyword_f1(predictions, references)
