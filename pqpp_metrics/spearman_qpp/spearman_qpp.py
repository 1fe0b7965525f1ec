"""Evaluate module `pqpp/spearman_qpp`: Spearman correlation of predicted and true performance."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import spearman_qpp


class SpearmanQpp(evaluate_module.Metric):
    """Spearman correlation with p-value and confidence interval."""

    def _info(self):
        return evaluate_module.info(spearman_qpp, evaluate_module.PAIRS, citations.QPP)

    def _compute(self, predictions, references, confidence=0.95):
        result = spearman_qpp(predictions, references, confidence=confidence)
        return evaluate_module.plain(result)
