"""The options of a model that is asked whether an image shows its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqpp_backbones.chat.models import ChatOptions
from pqpp_feedback.assess.options import AssessorOptions
from pqpp_feedback.errors import AssessError
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


@dataclass(frozen=True, kw_only=True)
class VqaOptions(ChatOptions, AssessorOptions):
    """The probability that a model of images and text answers "yes" about image and prompt.

    The model runs in this process or behind an endpoint that speaks OpenAI's chat completions. It
    is VQAScore's question; an endpoint that tells no probabilities gives verdicts alone.
    """

    agreement = (
        "How well it agrees with people depends on the model, and is not known here; VQAScore's "
        "paper reports it for CLIP-FlanT5;"
    )

    question: str | None = option(None, "with {} for the prompt; else VQAScore's", metavar="TEXT")
    answers: str | None = option(None, "folder where answers are kept; nowhere if left out")

    def __post_init__(self) -> None:
        """Refuse a question without the prompt, and none to ask."""
        super().__post_init__()
        if self.question is not None and "{}" not in self.question:
            raise AssessError(f"`question` is {self.question!r:.60}; write {{}} for the prompt")
        if not self.evidence and not self.chat_model:
            raise AssessError("`chat_model` is missing: who answers, at `chat_url` or here")

    def open(self) -> Sequence[Assessor]:
        """Load the model, or reach for the endpoint."""
        from pqpp_feedback.vqa.assessor import QUESTION, VqaAssessor

        question = self.question or QUESTION
        if self.evidence:
            return [VqaAssessor(None, question)]
        place = self.budget(), self.device, self.dtype
        chat = self.open_chat(self.chat_model or "", *place, sees=True)
        return [VqaAssessor(chat, question, self.answers)]
