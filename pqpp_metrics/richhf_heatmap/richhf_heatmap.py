"""Evaluate module `pqpp/richhf_heatmap`: RichHF's protocol for heatmaps."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import richhf_heatmap


class RichhfHeatmap(evaluate_module.Metric):
    """MSE on all and on empty truths, saliency metrics on the others."""

    def _info(self):
        return evaluate_module.info(richhf_heatmap, evaluate_module.MAPS, citations.RICHHF)

    def _compute(self, predictions, references, convention="pysaliency"):
        return richhf_heatmap(predictions, references, convention=convention)
