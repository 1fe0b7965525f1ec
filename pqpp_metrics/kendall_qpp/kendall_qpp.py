"""Evaluate module `pqpp/kendall_qpp`: Kendall correlation of predicted and true performance."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import kendall_qpp


class KendallQpp(evaluate_module.Metric):
    """Kendall's tau-b with p-value and confidence interval."""

    def _info(self):
        return evaluate_module.info(kendall_qpp, evaluate_module.PAIRS, citations.PQPP)

    def _compute(self, predictions, references, confidence=0.95):
        result = kendall_qpp(predictions, references, confidence=confidence)
        return evaluate_module.plain(result)
