"""Evaluate module `pqpp/heatmap_mse`: mean squared error of heatmaps."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import heatmap_mse


class HeatmapMse(evaluate_module.Metric):
    """Mean squared error over maps, with the value of every map."""

    def _info(self):
        return evaluate_module.info(heatmap_mse, evaluate_module.MAPS, citations.RICHHF)

    def _compute(self, predictions, references):
        maps = zip(predictions, references, strict=True)
        scores = [float(heatmap_mse(*pair)) for pair in maps]
        return evaluate_module.per_item("heatmap_mse", scores)
