"""Evaluate module `pqpp/text_rendering`: how faithfully images show a text."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import text_rendering


class TextRendering(evaluate_module.Metric):
    """Mean text rendering score over images, with every image's score and both parts."""

    def _info(self):
        return evaluate_module.info(text_rendering, evaluate_module.TEXTS, citations.VISTAR)

    def _compute(self, predictions, references, weights=(0.5, 0.5)):
        result = text_rendering(predictions, references, weights=weights)
        scores = result.pop("text_rendering")
        return evaluate_module.per_item("text_rendering", scores, **result)
