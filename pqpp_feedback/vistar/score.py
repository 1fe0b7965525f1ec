"""What VISTAR's scores have in common: what they read of a prompt, and when they keep silent."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_models.pretrained import Model

ANGLES = ("TR", "LI", "CSE", "CPA", "PSC", "GC", "SF", "CUL", "MA")
"""VISTAR's nine evaluation angles, in the order of its table 3."""


class VistarScore(Assessor):
    """One of VISTAR's scores: evidence from models, a score in [0, 1] by arithmetic.

    A picture whose prompt is about another angle is not looked at.

    Attributes:
        inputs: What is read of a prompt beside its text: column or control parameter to what it
            says.
        angle: VISTAR's short name.
        angles: All of them, where a score is for several.
        section: Of `vistar_choices.yaml`.
    """

    inputs: ClassVar[Mapping[str, str]] = {}
    angle = ""
    angles: ClassVar[tuple[str, ...]] = ()
    section = ""

    def __init__(self, models: Mapping[str, Model] | None = None) -> None:
        super().__init__(models)
        self.name = f"vistar-{self.section}"
        self.routine = f"after-{self.name}"
        self.columns = ("angle", "parameters", *self.inputs)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The choices that stand in for what the paper does not print."""
        return dict(choices(self.section))

    def perceive(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Look at each image by itself, where its prompt asks for it."""
        return [
            {} if self._silent(picture) else self.look(image, picture)
            for image, picture in zip(images, pictures, strict=True)
        ]

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the score of the evidence; None, with the reason, where nothing was asked."""
        silent = self._silent(picture)
        return Verdict(None, None, silent) if silent else self.judge(evidence, picture)

    def _silent(self, picture: Picture) -> str:
        angle, own = str(picture.about.get("angle") or ""), self.angles or (self.angle,)
        if angle in ANGLES and angle not in own:
            return f"the prompt is about {angle}, not about {' or '.join(own)}"
        return self.lacking(picture)

    def lacking(self, picture: Picture) -> str:
        """Return what the prompt lacks for this score, in words; empty where it has all."""
        return ""

    @abc.abstractmethod
    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return what is seen of one image, as values that JSON holds."""

    @abc.abstractmethod
    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the score of an image's evidence."""


def asked(picture: Picture, name: str) -> Any:
    """Return what a prompt says under a name: a column, or a control parameter of the prompt.

    Example:
        >>> from pathlib import Path
        >>> parameters = {"key": ["font"], "value": ["Futura"]}
        >>> asked(Picture(Path("a.png"), "A sign", about={"parameters": parameters}), "font")
        'Futura'
    """
    given = picture.about.get(name)
    if given is not None:
        return given
    pairs = picture.about.get("parameters") or {}
    found = dict(zip(pairs.get("key", ()), pairs.get("value", ()), strict=False))
    return found.get(name)


def listed(value: Any) -> list[str]:
    """Return a list, or a text with bars or semicolons between its parts, as a list of texts.

    Example:
        >>> listed("a cat wakes; a cat eats"), listed(["one"]), listed(None)
        (['a cat wakes', 'a cat eats'], ['one'], [])
    """
    if value is None:
        return []
    parts = re.split(r"[;|]", value) if isinstance(value, str) else value
    return [str(part).strip() for part in parts if str(part).strip()]
