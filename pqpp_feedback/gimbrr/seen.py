"""What was seen of an image, similarities of names and detected boxes, and how clearly it holds."""

from collections.abc import Mapping
from typing import Any

from pqpp_feedback.gimbrr.conditions import EYE_OF, Condition, Conditions

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
VOCABULARY = tuple(" ".join(_NAMES.split()).split(", "))
"""The 91 names of MS COCO, from which rivals are taken; 11 of them have no training images."""

TEMPLATES = {
    "bare": ("{}",),
    "photo": ("a photo of a {}.", "a picture of a {}.", "a drawing of a {}.", "an image of {}."),
}
"""How names are put to CLIP: as in the authors' code, and as CLIP was trained; ours to choose."""


_BOXES = 10.0
"""What margins of boxes are multiplied by, to be of the size of CLIP's; ours to choose."""


class Seen:
    """Evidence of an image.

    Args:
        evidence: As `pqpp_feedback.gimbrr.assessor` keeps it.

    Example:
        >>> cat = {"label": "cat", "score": 0.9}
        >>> seen = Seen({"detector": {"labels": {"cat": "cat", "hat": None}, "boxes": [cat]}})
        >>> seen.scores_of("cat"), seen.lacking([Condition("counts", "hat")])
        ([0.9], "the detector has no class 'hat'")
    """

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self._clip: Any = evidence.get("clip")
        self._detector: Any = evidence.get("detector")

    def similarity(self, name: str, template: str) -> float:
        """Return CLIP's similarity of the image to a name of the prompt or of `VOCABULARY`."""
        values = self._clip["own"].get(name)
        return values[template] if values else self._clip[template][VOCABULARY.index(name)]

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


def margins_of(
    seen: Seen, conditions: Conditions, template: str, box_threshold: float
) -> dict[str, tuple[float, str]]:
    """Return the smallest margin of each kind, and the reason in words.

    An object's margin is CLIP's logit of it less that of the best of all names of `VOCABULARY`
    that the prompt does not name; one that shall be absent has the negative. A count's margin is
    how far the weakest counted box is above the threshold, or the strongest further one below it,
    whichever is less, times 10.

    Args:
        seen: The evidence.
        conditions: What must hold.
        template: How names were put to CLIP, of `TEMPLATES`.
        box_threshold: The score from which on a box counts.

    Example:
        >>> boxes = [{"label": "cow", "score": score} for score in (0.9, 0.7, 0.3)]
        >>> seen = Seen({"detector": {"labels": {"cow": "cow"}, "boxes": boxes}})
        >>> two = [Condition("counts", "cow", count=2)]
        >>> margin, _ = margins_of(seen, two, "photo", 0.5)["counts"]
        >>> round(margin, 6)
        2.0
    """
    margins: dict[str, tuple[float, str]] = {}
    for condition in conditions:
        kind = condition.kind
        if kind == "counts":
            margin = _counted(seen, condition, box_threshold)
        else:
            margin = _named(seen, condition, template)
        margins[kind] = min(margins.get(kind, margin), margin, key=lambda pair: pair[0])
    return margins


def _named(seen: Seen, condition: Condition, template: str) -> tuple[float, str]:
    name = condition.name
    rivals = [other for other in VOCABULARY if other not in (name, *condition.beside)]
    best = max(rivals, key=lambda rival: seen.similarity(rival, template))
    own, other = seen.similarity(name, template), seen.similarity(best, template)
    margin = seen.scale * (own - other)
    if condition.kind == "lacks":
        return -margin, f"{name}, to be absent, is {-margin:.1f} below {best}"
    return margin, f"{name} is {margin:+.1f} against {best}, the best of {len(rivals)} names"


def _counted(seen: Seen, condition: Condition, threshold: float) -> tuple[float, str]:
    scores, count = seen.scores_of(condition.name), condition.count
    number = sum(score >= threshold for score in scores)
    weakest = scores[count - 1] if len(scores) >= count > 0 else 0.0
    inside = weakest - threshold if count else 1.0
    further = scores[count] if len(scores) > count else 0.0
    margin = _BOXES * min(inside, threshold - further)
    return margin, f"{count} {condition.name} asked, {number} found from {threshold:.2f} on"
