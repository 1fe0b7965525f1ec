"""Evaluate module `pqpp/hwpq`: weighted pairs of positive and negative questions."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import hwpq


class Hwpq(evaluate_module.Metric):
    """Mean HWPQ score over images, with every image's score and levels."""

    def _info(self):
        return evaluate_module.info(hwpq, evaluate_module.QUESTIONNAIRES, citations.VISTAR)

    def _compute(self, positive, negative, levels, question_weights, level_weights, ties="false"):
        images = zip(positive, negative, levels, question_weights, level_weights, strict=True)
        rows = [hwpq(*image, ties=ties) for image in images]
        by_level = [row["levels"].tolist() for row in rows]
        return evaluate_module.per_item("hwpq", [row["hwpq"] for row in rows]) | {
            "levels": by_level
        }
