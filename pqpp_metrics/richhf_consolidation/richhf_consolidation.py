"""Evaluate module `pqpp/richhf_consolidation`: feedback of several annotators as one."""

import numpy as np

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import richhf_consolidation


class RichhfConsolidation(evaluate_module.Metric):
    """Mean score over images and kinds of score, with the consolidated feedback of every image."""

    def _info(self):
        return evaluate_module.info(
            richhf_consolidation, evaluate_module.FEEDBACK, citations.RICHHF
        )

    def _compute(self, scores, keyword_labels, points, height, width, ties="aligned"):
        images = [
            richhf_consolidation(*image, height=height, width=width, ties=ties)
            for image in zip(scores, keyword_labels, points, strict=True)
        ]
        means = np.concatenate([image["scores"] for image in images])
        return evaluate_module.per_item("richhf_consolidation", means) | {
            "scores": [image["scores"].tolist() for image in images],
            "keyword_labels": [image["keyword_labels"].tolist() for image in images],
            "heatmaps": [image["heatmap"].tolist() for image in images],
        }
