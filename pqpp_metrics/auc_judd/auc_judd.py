"""Evaluate module `pqpp/auc_judd`: area under the ROC curve of a saliency map."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import auc_judd


class AucJudd(evaluate_module.Metric):
    """Mean AUC-Judd over maps, with the value of every map."""

    def _info(self):
        return evaluate_module.info(auc_judd, evaluate_module.MAPS, citations.SALIENCY)

    def _compute(self, predictions, references, convention="pysaliency"):
        maps = zip(predictions, references, strict=True)
        scores = [float(auc_judd(*pair, convention=convention)) for pair in maps]
        return evaluate_module.per_item("auc_judd", scores)
