"""The base class of VISTAR's scores, which defines the required inputs and skipped prompts."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import load_params
from pqpp_feedback.vistar.vision import Vision

# VISTAR's nine evaluation angles, in the order of its table 3.
ANGLES = ("TR", "LI", "CSE", "CPA", "PSC", "GC", "SF", "CUL", "MA")


class VistarScore(Assessor):
    """One of VISTAR's scores: models collect evidence, from which rules compute a score in [0, 1].

    A picture is skipped if its prompt is for another angle.

    Attributes:
        inputs: The columns or control parameters that the score reads besides the prompt's text.
        angle: VISTAR's abbreviation of the angle, such as TR.
        angles: All angles of the score, if it has several.
        roles: The roles of the score's models.
        options: The names of the `VistarOptions` that are also arguments of the score.
        is_default: Whether the score is computed by default.
        section: The name of the score's file, and of its section in `vistar_choices.yaml`.

    Args:
        vision: The score's vision models; not needed to score stored evidence.
    """

    inputs: ClassVar[tuple[str, ...]] = ()
    angle = ""
    angles: ClassVar[tuple[str, ...]] = ()
    roles: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    is_default = True
    is_one_by_one = True
    section = ""

    def __init_subclass__(cls) -> None:
        """Name a score after its file."""
        cls.section = cls.__module__.rpartition(".")[2]

    def __init__(self, vision: Vision | None = None) -> None:
        models = {role: vision.get_model(role).identity for role in self.roles} if vision else None
        super().__init__(models)
        self.vision: Any = vision
        self.name = f"vistar-{self.section}"
        self.routine = f"after-{self.name}"
        self.columns = ("angle", "parameters", *self.inputs)

    @classmethod
    def from_options(cls, vision: Vision | None, options: Any) -> Self:
        """Create the score from `pqpp_feedback.assessors.VistarOptions`."""
        return cls(vision, **{name: getattr(options, name) for name in cls.options})

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters that the paper leaves open."""
        return dict(load_params(self.section))

    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Return the evidence of each image; empty if the score does not apply to its prompt."""
        return [
            {} if self._explain_skip(picture) else self.observe_image(image, picture)
            for image, picture in zip(images, pictures, strict=True)
        ]

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the score of the evidence, or None and the reason if it does not apply."""
        if reason := self._explain_skip(picture):
            return Verdict(None, None, reason)
        return self.score_evidence(evidence, picture)

    def _explain_skip(self, picture: Picture) -> str:
        angle, angles = str(picture.about.get("angle") or ""), self.angles or (self.angle,)
        if angle in ANGLES and angle not in angles:
            return f"the prompt is about {angle}, not about {' or '.join(angles)}"
        return self.explain_missing(picture)

    def explain_missing(self, picture: Picture) -> str:
        """Return the reason why the prompt cannot be scored; empty if it can be."""
        return ""

    @abc.abstractmethod
    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the observations on one image, as JSON values."""

    @abc.abstractmethod
    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the score of an image's evidence."""
