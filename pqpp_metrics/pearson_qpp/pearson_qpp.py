"""Evaluate module `pqpp/pearson_qpp`: Pearson correlation of predicted and true performance."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import pearson_qpp


class PearsonQpp(evaluate_module.Metric):
    """Pearson correlation with p-value and confidence interval."""

    def _info(self):
        return evaluate_module.info(pearson_qpp, evaluate_module.PAIRS, citations.PQPP)

    def _compute(self, predictions, references, confidence=0.95):
        result = pearson_qpp(predictions, references, confidence=confidence)
        return evaluate_module.plain(result)
