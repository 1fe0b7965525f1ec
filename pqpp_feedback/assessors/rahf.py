"""The options of RAHF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqpp_feedback.assess.options import AssessorOptions
from pqpp_feedback.errors import AssessError, check_share
from pqpp_files.extras import needing
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


@dataclass(frozen=True, kw_only=True)
class RahfOptions(AssessorOptions):
    """Scores, heatmaps and misaligned words by a RAHF model."""

    agreement = "How well a RAHF model agrees with people is in its card (pqpp bench measures it)."

    model: str | None = option(None, "folder or OWNER/REPOSITORY of a RAHF model", path="name")
    threshold: float = option(0.5, "a word of at least this probability counts as misaligned")

    def __post_init__(self) -> None:
        """Refuse before images are looked for what would fail after it."""
        super().__post_init__()
        check_share("threshold", self.threshold)
        if self.evidence:
            return
        if self.model is None:
            raise AssessError(
                "`model`: Google's weights are not published; in a clone `make gallery` trains a"
                " small one on generated scenes in 15 CPU minutes, pqpp train rahf one on a GPU"
            )
        with needing("pqpp assess rahf", "models"):
            import torch  # noqa: F401
            import transformers  # noqa: F401

    def open(self) -> Sequence[Assessor]:
        """Load the model."""
        from pqpp_feedback.rahf.assessor import RahfAssessor

        if self.evidence:
            return [RahfAssessor(None, self.threshold)]
        assert self.model is not None
        import torch

        from pqpp_feedback.rahf import FeedbackModel

        model = FeedbackModel.from_pretrained(self.model, self.device, self.threshold)
        model.model.to(getattr(torch, self.dtype))
        return [RahfAssessor(model, self.threshold)]
