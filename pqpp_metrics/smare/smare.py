"""Evaluate module `pqpp/smare`: scaled mean absolute rank error of predicted performance."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import smare


class Smare(evaluate_module.Metric):
    """Mean scaled rank error, with p-value, interval and the error of every query."""

    def _info(self):
        return evaluate_module.info(smare, evaluate_module.PAIRS, citations.SMARE)

    def _compute(self, predictions, references, confidence=0.95):
        result = smare(predictions, references, confidence=confidence)
        return evaluate_module.plain(result)
