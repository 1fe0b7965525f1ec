"""GIMBRR as an assessor: CLIP names what is shown, a detector counts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.gimbrr.asked import COLUMNS, asked_of
from pqpp_feedback.gimbrr.conditions import KINDS
from pqpp_feedback.gimbrr.routines import Routine
from pqpp_feedback.gimbrr.seen import Seen
from pqpp_feedback.gimbrr.tasks import conditions_of


class GimbrrAssessor(Assessor):
    """Judges images of GIMBRR's tasks, or of prompts with the same columns.

    Args:
        routine: What turns evidence into verdicts.
        clip: A `pqpp_feedback.gimbrr.eyes.ClipEye`; None to score kept evidence.
        detector: A `pqpp_feedback.assess.detector.DetectorEye`; None likewise.

    Example:
        >>> from pathlib import Path
        >>> from pqpp_feedback.gimbrr.routines.published import Published
        >>> cat = {"label": "cat", "score": 0.9}
        >>> evidence = {"detector": {"labels": {"cat": "cat"}, "boxes": [cat, cat]}}
        >>> about = {"task": "Counting", "representations": ["cat"], "task_specific_label": "3"}
        >>> picture = Picture(Path("a.png"), "3 cats", about=about)
        >>> GimbrrAssessor(Published()).score(evidence, picture).reason
        '3 cat asked, 2 found above 0.5'
    """

    name = "gimbrr"
    columns = COLUMNS

    def __init__(self, routine: Routine, clip: Any = None, detector: Any = None) -> None:
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
        asked = [asked_of(picture.about) for picture in pictures]
        conditions = [conditions_of(one) for one in asked]
        found: list[dict[str, Any]] = [{} for _ in images]
        for role, eye in self._eyes.items():
            some, names = [], []
            for number, these in enumerate(conditions):
                own = [] if isinstance(these, str) else [c for c in these if KINDS[c.kind] == role]
                if own and eye is not None:
                    some.append(number)
                    names.append(sorted({name for c in own for name in (c.name, *c.beside)}))
            if some:
                with self.timed(role):
                    seen = eye.look([images[number] for number in some], names)
                for number, one in zip(some, seen, strict=True):
                    found[number][role] = one
        return found

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the routine's verdict; None, with the reason, where it cannot be told."""
        asked = asked_of(picture.about)
        conditions = conditions_of(asked)
        if isinstance(conditions, str):
            return Verdict(None, None, conditions)
        seen = Seen(evidence)
        for one in conditions:
            if not seen.has(KINDS[one.kind]):
                return Verdict(None, None, f"no {KINDS[one.kind]} has looked at the image")
            if one.kind == "counts" and not seen.can_emit(one.name):
                return Verdict(None, None, f"the detector has no class {one.name!r}")
        return self._routine.judge(seen, conditions, picture.image_id, asked.task)
