"""Evaluate module `pqpp/geometric_minimum`: the weakest of six geometric cues."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import geometric_minimum


class GeometricMinimum(evaluate_module.Metric):
    """Mean of the lowest cue over images, with the value of every image."""

    def _info(self):
        return evaluate_module.info(geometric_minimum, evaluate_module.CUES, citations.VISTAR)

    def _compute(self, scores):
        return evaluate_module.per_item("geometric_minimum", geometric_minimum(scores))
