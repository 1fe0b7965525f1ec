"""The paper's published routine: random distractors for CLIP, a threshold for the detector.

An object is shown if the image is more similar to its name than to 5 random class names of MS COCO,
and absent if it is not more similar to it than to 9 such names. A count is right if it is the
number of boxes that score above .5. The published code draws new distractors in each run; here they
depend on the image, so that verdicts are reproducible.
"""

import math
from collections.abc import Mapping
from typing import Any

from pqpp_feedback.assess.assessor import Verdict, make_rng
from pqpp_feedback.gimbrr.conditions import ROLES, Condition, Conditions

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
# The 91 class names of MS COCO, used as distractors; 11 of them have no training images.
VOCABULARY = tuple(" ".join(_NAMES.split()).split(", "))

WAY = "bare"  # CLIP's text is the name alone, as in the authors' code


class Evidence:
    """The outputs of CLIP and the detector for an image.

    Args:
        evidence: One image's entry in the output of `GimbrrAssessor.observe`.

    Example:
        >>> from pqpp_feedback.gimbrr.conditions import Condition
        >>> cat = {"label": "cat", "score": 0.9}
        >>> seen = Evidence({"detector": {"labels": {"cat": "cat", "hat": None}, "boxes": [cat]}})
        >>> seen.get_box_scores("cat"), seen.explain_missing([Condition("counts", "hat")])
        ([0.9], "the detector has no class 'hat'")
    """

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self._clip: Any = evidence.get("clip")
        self._detector: Any = evidence.get("detector")

    def get_similarity(self, name: str) -> float:
        """Return CLIP's similarity of the image to a name of the prompt or of `VOCABULARY`."""
        values = self._clip["own"].get(name)
        return values[WAY] if values else self._clip[WAY][VOCABULARY.index(name)]

    @property
    def scale(self) -> float:
        """CLIP's learned scale of similarities."""
        return self._clip["scale"]

    def explain_missing(self, conditions: Conditions) -> str:
        """Return why the evidence is insufficient for conditions; empty if it suffices."""
        for condition in conditions:
            role = ROLES[condition.kind]
            if (self._clip if role == "clip" else self._detector) is None:
                return f"no {role} model has processed the image"
            if role == "detector" and self._detector["labels"].get(condition.name) is None:
                return f"the detector has no class {condition.name!r}"
        return ""

    def get_box_scores(self, name: str) -> list[float]:
        """Return the scores of an object's boxes, highest first."""
        label = self._detector["labels"].get(name)
        scores = (box["score"] for box in self._detector["boxes"] if box["label"] == label)
        return sorted(scores, reverse=True)


RIVALS = {"shows": 5, "lacks": 9}
THRESHOLD = 0.5


class PublishedRoutine:
    """The rules that the paper's authors published; a subclass with another name can change them.

    Args:
        seed: Seed of the distractors, combined with the image's id.

    Example:
        >>> cat = {"label": "cat", "score": 0.9}
        >>> seen = Evidence({"detector": {"labels": {"cat": "cat"}, "boxes": [cat]}})
        >>> wanted = [Condition("counts", "cat", count=2)]
        >>> PublishedRoutine().assess(seen, wanted, "a.png", "Counting").score
        0.5
    """

    name = "gimbrr-published"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.settings: dict[str, Any] = {"seed": seed}

    def assess(self, seen: Evidence, conditions: Conditions, image_id: str, task: str) -> Verdict:
        """Return whether all conditions are met, and their lowest score in 0 .. 1.

        An object's score is the softmax of its similarity among those of the distractors (one minus
        that value if the object must be absent); a count's score is the smaller number over the
        larger.
        """
        ratings = [self._rate(seen, condition, image_id) for condition in conditions]
        outcomes, scores, reasons = zip(*ratings, strict=True)
        return Verdict(all(outcomes), min(scores), "; ".join(reasons))

    def _rate(self, seen: Evidence, condition: Condition, image_id: str) -> tuple[bool, float, str]:
        kind, name, count = condition.kind, condition.name, condition.count
        if kind == "counts":
            number = sum(score > THRESHOLD for score in seen.get_box_scores(name))
            share = min(number, count) / max(number, count) if number or count else 1.0
            reason = f"{count} {name} requested, {number} found above {THRESHOLD}"
            return number == count, share, reason
        pool = [other for other in VOCABULARY if other not in (name, *condition.others)]
        rng = make_rng(image_id, self._seed, kind, name)
        distractors = [pool[n] for n in rng.choice(len(pool), RIVALS[kind], replace=False)]
        names = [name, *distractors]
        similarities = [seen.get_similarity(other) for other in names]
        highest = max(similarities)
        weights = [math.exp(seen.scale * (value - highest)) for value in similarities]
        share = weights[0] / sum(weights)
        is_best, winner = similarities[0] >= highest, names[similarities.index(highest)]
        outcome = f"{name} wins against" if is_best else f"{name} loses to {winner} among"
        reason = f"{outcome} {', '.join(distractors)} ({share:.2f})"
        if kind == "lacks":
            return not is_best, 1 - share, f"to be absent: {reason}"
        return is_best, share, reason
