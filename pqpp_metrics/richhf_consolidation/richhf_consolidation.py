"""Evaluate module `pqpp/richhf_consolidation`: feedback of several annotators as one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pqpp_metrics import forms, metric


class RichhfConsolidation(metric.get_base(__name__), inputs=forms.FEEDBACK, each="image"):
    """Mean score over images and kinds of score, with the consolidated feedback of every image."""

    @classmethod
    def compute_results(cls, inputs: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the mean score, and the consolidated feedback of every image."""
        images = [cls.function(*image, **options) for image in zip(*inputs, strict=True)]
        means = np.concatenate([image["scores"] for image in images])
        names = {"scores": "scores", "keyword_labels": "keyword_labels", "heatmap": "heatmaps"}
        columns = {key: [image[name] for image in images] for name, key in names.items()}
        return metric.summarise_items("richhf_consolidation", means) | forms.to_plain(columns)
