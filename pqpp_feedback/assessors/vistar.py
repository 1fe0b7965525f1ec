"""The options of VISTAR's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqpp_backbones.chat.models import ChatOptions
from pqpp_feedback.assess.options import AssessorOptions
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


@dataclass(frozen=True, kw_only=True)
class VistarOptions(ChatOptions, AssessorOptions):
    """Scores after VISTAR: text, light, scenes, characters, penetration, geometry, and HWPQ.

    A score looks at a prompt that has what it needs; another row says what is lacking. Columns or
    control parameters of a prompt: text; light; panels, subject, layout; count, postures,
    expressions; objects. Every number that the paper does not print is in
    pqpp_feedback/vistar/vistar_choices.yaml.
    """

    agreement = (
        "How well these scores agree with people is not known: the paper prints 77 to 85 % of "
        "pairs for its own, of which it leaves many numbers open."
    )

    only: list[str] = option(
        [], "which scores (default: all but hwpq); text_rendering needs no download"
    )
    model: dict[str, str] = option(
        {},
        "another model for a role, ROLE=NAME_OR_PATH: detector, segmenter, depth, similarity, "
        "features, pose, expression, anomaly",
        path="name",
    )
    weighting: str | None = option(
        None, "of penetration, as the paper means it or prints it", ("corrected", "printed")
    )
    text_match: str = option(
        "whole", "all text counts, as in the paper, or the part most alike", ("whole", "contained")
    )
    text_script: str = option(
        "usual",
        "of the texts; usual is Latin, Chinese and Japanese, other models are fetched once",
        ("usual", "greek", "cyrillic", "korean", "arabic", "devanagari", "thai"),
    )
    text_turned: bool = option(False, "also read images turned by 90, 180 and 270 degrees")
    text_counts: list[str] = option([], "also counts in texts", ("case", "punctuation"))
    flawless_dir: str | None = option(
        None, "hundreds of images without flaws, for geometry's sixth cue", path="folder"
    )
    writer: str | None = option(None, "who writes questionnaires of hwpq; who answers if left out")
    questionnaires: str | None = option(
        None, "folder of hwpq's questionnaires, none of which is ever replaced", path="folder"
    )
    answers: str | None = option(None, "folder where hwpq's answers are kept; nowhere if left out")
    answers_per_question: int = option(3, "how often hwpq asks a question", metavar="K", least=1)

    def open(self) -> Sequence[Assessor]:
        """Load the models of the wanted scores."""
        from pqpp_feedback.vistar.scores import open_scores

        return open_scores(self)
