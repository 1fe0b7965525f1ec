"""Evaluate module `pqpp/light_direction`: consistency of the direction of light."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import light_direction


class LightDirection(evaluate_module.Metric):
    """Mean light consistency over images, with the value of every image."""

    def _info(self):
        return evaluate_module.info(light_direction, evaluate_module.VECTORS, citations.VISTAR)

    def _compute(self, predictions, references):
        return evaluate_module.per_item("light_direction", light_direction(predictions, references))
