"""Evaluate module `pqpp/rmse_qpp`: root mean squared error of predicted performance."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import rmse_qpp


class RmseQpp(evaluate_module.Metric):
    """Root mean squared error with p-value and confidence interval."""

    def _info(self):
        return evaluate_module.info(rmse_qpp, evaluate_module.PAIRS, citations.QPP)

    def _compute(self, predictions, references, confidence=0.95):
        result = rmse_qpp(predictions, references, confidence=confidence)
        return evaluate_module.plain(result)
