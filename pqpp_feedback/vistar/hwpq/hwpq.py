"""HWPQ: the weighted share of facts whose two questions a model that sees answers rightly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pqpp_datasets.vistar.vistar import LEVELS, flat_questions
from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.hwpq.answers import SIDES, Answers, request_of
from pqpp_feedback.vistar.hwpq.questionnaires import Questionnaires, instruction_hash
from pqpp_feedback.vistar.score import VistarScore
from pqpp_metrics.functional.hwpq import hwpq
from pqpp_models.chat.chat import Request
from pqpp_models.pretrained import Model

_LIKELY_FACTS = 12
_AN_IMAGE = object()  # only whether there is one counts for a guess


class HwpqScore(VistarScore):
    """Hierarchical weighted questions, after VISTAR's section 3.4; for its three abstract angles.

    Args:
        questionnaires: Where each prompt's is; not needed to score kept evidence.
        answers: Who answers; not needed to score kept evidence.
    """

    section, angle = "hwpq", "SF"
    angles: ClassVar = ("SF", "CUL", "MA")
    inputs: ClassVar = {}

    def __init__(
        self, questionnaires: Questionnaires | None = None, answers: Answers | None = None
    ) -> None:
        super().__init__()
        self._questionnaires, self._answers = questionnaires, answers
        if answers and questionnaires:
            self.models["answers"] = Model(answers.chat.name)
            if questionnaires.writer:
                self.models["questions"] = Model(questionnaires.writer.name)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The choices, the instruction's hash and the number of votes."""
        votes = self._answers.votes if self._answers else None
        return {**super().settings, "instruction": instruction_hash(), "votes": votes}

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the questions with their weights, and the votes on each."""
        assert self._questionnaires is not None and self._answers is not None
        with self.timed("questions"):
            questions = flat_questions(self._questionnaires.of(picture.prompt))
        with self.timed("answers"):
            return {"questions": questions, **self._answers.of(image, questions)}

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the weighted share of confirmed facts; None where a question has no answer."""
        questions = evidence["questions"]
        votes = [one for side in SIDES for question in evidence[side] for one in question]
        failed = f"{votes.count(None)} of {len(votes)} answers unreadable"
        sides = [[_majority(question) for question in evidence[side]] for side in SIDES]
        unanswered = sum(one is None for side in sides for one in side)
        if unanswered:
            return Verdict(None, None, f"{unanswered} questions without an answer; {failed}")
        levels = [LEVELS.index(one) + 1 for one in questions["level"]]
        weights = dict(zip(levels, questions["level_weight"], strict=True))
        level_weights = np.array([weights[n] for n in (1, 2, 3, 4)], dtype=float)
        own = np.array(questions["question_weight"], dtype=float)
        totals = np.bincount(levels, own)
        positive, negative = (np.array(side)[:, None] for side in sides)
        found = hwpq(
            positive,
            negative,
            levels,
            # Kept evidence has six digits, after which thirds no longer sum to 1.
            own / totals[levels],
            level_weights / level_weights.sum(),
        )
        wrong = [
            node
            for node, right in zip(questions["node"], found["confirmed"], strict=True)
            if not right
        ]
        said = f"not confirmed: {', '.join(wrong)}" if wrong else "all facts confirmed"
        return Verdict(None, found["hwpq"], f"{said}; {failed}")


def _majority(votes: list[bool | None]) -> bool | None:
    """Return whether most of the readable votes say yes; None without any."""
    told = [one for one in votes if one is not None]
    return 2 * sum(told) > len(told) if told else None


def planned_calls(pictures: list[Picture], questionnaires: Questionnaires, votes: int) -> int:
    """Return how many calls some pictures take at most, tries that fail not counted.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from types import SimpleNamespace as Made
        >>> kept = Questionnaires(tempfile.mkdtemp(), Made(name="writer"))
        >>> pictures = [Picture(Path(name), "a cat") for name in ("a.png", "b.png")]
        >>> planned_calls(pictures, kept, votes=3)  # one questionnaire, two sides of two images
        13
    """
    asked = [one for one in pictures if not one.problem]
    new = {one.prompt for one in asked if not questionnaires.has(one.prompt)}
    if questionnaires.writer is None:
        asked = [one for one in asked if one.prompt not in new]
        new = set()
    return len(new) + len(SIDES) * votes * len(asked)


def likely_request() -> Request:
    """Return a request as large as most, from which the cost of a run is guessed before it.

    Example:
        >>> likely_request().text.count("?"), likely_request().image is None
        (12, False)
    """
    questions = ["Is the thing that the prompt names there, as it says?"] * _LIKELY_FACTS
    return replace(request_of(None, questions, 0), image=_AN_IMAGE)
