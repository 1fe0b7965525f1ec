"""GIMBRR as an assessor: CLIP names what is shown, a detector counts it."""

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.gimbrr.conditions import ASKED_COLUMNS, EYE_OF, asked_of, conditions_of
from pqpp_feedback.gimbrr.published import Published, Seen


class GimbrrAssessor(Assessor):
    """Judges images of GIMBRR's tasks, or of prompts with the same columns.

    Args:
        routine: What turns evidence into verdicts.
        clip: A `pqpp_feedback.gimbrr.eyes.ClipEye`; None to score kept evidence.
        detector: A `pqpp_feedback.assess.detector.DetectorEye`; None likewise.

    Example:
        >>> from pathlib import Path
        >>> cat = {"label": "cat", "score": 0.9}
        >>> evidence = {"detector": {"labels": {"cat": "cat"}, "boxes": [cat, cat]}}
        >>> about = {"task": "Counting", "representations": ["cat"], "task_specific_label": "3"}
        >>> picture = Picture(Path("a.png"), "3 cats", about=about)
        >>> GimbrrAssessor(Published()).score(evidence, picture).reason
        '3 cat asked, 2 found above 0.5'
    """

    name = "gimbrr"
    columns = ASKED_COLUMNS

    def __init__(self, routine: Published, clip: Any = None, detector: Any = None) -> None:
        self._eyes = {"clip": clip, "detector": detector}
        super().__init__({role: eye.told for role, eye in self._eyes.items() if eye is not None})
        self._routine, self.routine = routine, routine.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `Assessor`."""
        eyes = {role: eye.settings for role, eye in self._eyes.items() if eye is not None}
        return {"routine": self._routine.settings, **eyes}

    def perceive(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Return what the eyes that a prompt's task needs have seen of its image."""
        evidence: list[dict[str, Any]] = [{} for _ in images]
        for role, eye in self._eyes.items():
            names = {n: _names_for(role, picture) for n, picture in enumerate(pictures)}
            names = {number: some for number, some in names.items() if some}
            if names and eye is not None:
                with self.timed(role):
                    seen = eye.look([images[number] for number in names], list(names.values()))
                for number, part in zip(names, seen, strict=True):
                    evidence[number][role] = part
        return evidence

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the routine's verdict; None, with the reason, where it cannot be told."""
        asked, seen = asked_of(picture.about), Seen(evidence)
        conditions = conditions_of(asked)
        if isinstance(conditions, str) or (lacking := seen.lacking(conditions)):
            return Verdict(None, None, conditions if isinstance(conditions, str) else lacking)
        return self._routine.judge(seen, conditions, picture.image_id, asked.task)


def _names_for(eye: str, picture: Picture) -> list[str]:
    """Return the names that an eye must look for."""
    conditions = conditions_of(asked_of(picture.about))
    if isinstance(conditions, str):
        return []
    wanted = [condition for condition in conditions if EYE_OF[condition.kind] == eye]
    return sorted({name for condition in wanted for name in (condition.name, *condition.beside)})
