"""Evaluate module `pqpp/hbpp`: human-based prompt performance from raw votes."""

from typing import Any

from pqpp_metrics import forms, metric


class Hbpp(metric.get_base(__name__), inputs=forms.LABELS_BY_PROMPT):
    """Mean HBPP over prompts, with the score of every prompt."""

    @classmethod
    def shape_result(cls, result: Any) -> dict[str, Any]:
        """Return the mean over prompts, with the prompts' ids and scores."""
        ids, scores = result
        return metric.summarise_items("hbpp", scores, prompt_ids=ids)
