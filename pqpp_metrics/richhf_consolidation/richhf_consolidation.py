"""Evaluate module `pqpp/richhf_consolidation`: feedback of several annotators as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pqpp_metrics import forms, metric, modules
from pqpp_metrics.functional import richhf_consolidation


class RichhfConsolidation(
    modules.base(), function=richhf_consolidation, inputs=forms.FEEDBACK, each="image"
):
    """Mean score over images and kinds of score, with the consolidated feedback of every image."""

    @classmethod
    def results(cls, inputs: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """The mean score, and the consolidated feedback of every image."""
        images = [cls.function(*image, **options) for image in zip(*inputs, strict=True)]
        means = np.concatenate([image["scores"] for image in images])
        return metric.per_item("richhf_consolidation", means) | forms.plain(
            {
                "scores": [image["scores"] for image in images],
                "keyword_labels": [image["keyword_labels"] for image in images],
                "heatmaps": [image["heatmap"] for image in images],
            }
        )
