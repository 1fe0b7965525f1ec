"""Evaluate module `pqpp/scene_composition`: coverage and consistency of a composed scene."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import scene_composition


class SceneComposition(evaluate_module.Metric):
    """Mean composition score over images, with the value of every image."""

    def _info(self):
        return evaluate_module.info(scene_composition, evaluate_module.SCENES, citations.VISTAR)

    def _compute(self, coverage, consistency):
        return evaluate_module.per_item(
            "scene_composition", scene_composition(coverage, consistency)
        )
