"""What was seen of an image: similarities of names, and detected boxes."""

from collections.abc import Mapping
from typing import Any

from pqpp_feedback.gimbrr.conditions import EYE_OF, Conditions

_NAMES = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire
hydrant, street sign, stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow,
elephant, bear, zebra, giraffe, hat, backpack, umbrella, shoe, eye glasses, handbag, tie,
suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove,
skateboard, surfboard, tennis racket, bottle, plate, wine glass, cup, fork, knife, spoon,
bowl, banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake,
chair, couch, potted plant, bed, mirror, dining table, window, desk, toilet, door, tv,
laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator,
blender, book, clock, vase, scissors, teddy bear, hair drier, toothbrush, hair brush
"""
# The 91 names of MS COCO, from which rivals are taken; 11 of them have no training images.
VOCABULARY = tuple(" ".join(_NAMES.split()).split(", "))

WAY = "bare"  # how names are put to CLIP: as they are, as in the authors' code


class Seen:
    """Evidence of an image.

    Args:
        evidence: As `pqpp_feedback.gimbrr.assessor` keeps it.

    Example:
        >>> from pqpp_feedback.gimbrr.conditions import Condition
        >>> cat = {"label": "cat", "score": 0.9}
        >>> seen = Seen({"detector": {"labels": {"cat": "cat", "hat": None}, "boxes": [cat]}})
        >>> seen.scores_of("cat"), seen.lacking([Condition("counts", "hat")])
        ([0.9], "the detector has no class 'hat'")
    """

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self._clip: Any = evidence.get("clip")
        self._detector: Any = evidence.get("detector")

    def similarity(self, name: str) -> float:
        """Return CLIP's similarity of the image to a name of the prompt or of `VOCABULARY`."""
        values = self._clip["own"].get(name)
        return values[WAY] if values else self._clip[WAY][VOCABULARY.index(name)]

    @property
    def scale(self) -> float:
        """The factor that CLIP learned for its similarities."""
        return self._clip["scale"]

    def lacking(self, conditions: Conditions) -> str:
        """Return why conditions cannot be judged by this evidence; empty where they can."""
        for condition in conditions:
            eye = EYE_OF[condition.kind]
            if (self._clip if eye == "clip" else self._detector) is None:
                return f"no {eye} has looked at the image"
            if eye == "detector" and self._detector["labels"].get(condition.name) is None:
                return f"the detector has no class {condition.name!r}"
        return ""

    def scores_of(self, name: str) -> list[float]:
        """Return the scores of the boxes of an object, highest first."""
        label = self._detector["labels"].get(name)
        scores = (box["score"] for box in self._detector["boxes"] if box["label"] == label)
        return sorted(scores, reverse=True)
