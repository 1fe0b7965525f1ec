"""Eyes that see what is true of drawn scenes, and faults to be planted into what they see."""

import numpy as np

from pqpp_backbones.pretrained import Model
from pqpp_feedback.assess.boxes import overlap_of
from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
from pqpp_feedback.gimbrr.published import Published
from pqpp_feedback.gimbrr.seen import VOCABULARY, WAY
from pqpp_feedback.vistar.scores.characters import Characters
from pqpp_feedback.vistar.scores.light import Light
from pqpp_feedback.vistar.scores.penetration import PenetrationScore
from pqpp_feedback.vistar.scores.text_rendering import TextRenderingScore
from pqpp_feedback.vistar.sight import Objects, Sight


class TrueEyes(Sight):
    """A sight, a detector, a CLIP and a reader of text at once; images are known by their pixels.

    `faults` maps the name of what is seen (boxes, masks, depth, keypoints, texts, similarities) to
    a function that spoils it.
    """

    told, settings = Model("truth", "1"), {}

    def __init__(self, scenes, faults=()):
        super().__init__()
        self.scenes = {scene.image.tobytes(): scene for scene in scenes if scene.is_right}
        self.scenes |= {
            s.image.tobytes(): s for s in scenes if s.image.tobytes() not in self.scenes
        }
        self.faults = dict(faults)

    def spoilt(self, what, value):
        return self.faults.get(what, lambda value: value)(value)

    def of(self, image):
        return self.spoilt("scene", self.scenes[image.tobytes()])

    def told(self, *roles):  # noqa: F811 - of a sight
        return {role: Model("truth", "1") for role in roles}

    def boxes(self, image):
        boxes = [{"score": 0.9, **box, "box": list(box["box"])} for box in self.of(image).boxes]
        return self.spoilt("boxes", boxes)

    def objects(self, image, picture):
        scene, seen = self.of(image), self.boxes(image)
        masks = [
            max(
                zip(scene.masks, scene.boxes, strict=True),
                key=lambda pair: overlap_of(pair[1]["box"], box["box"]),
            )[0]
            for box in seen
        ]
        return Objects(seen, self.spoilt("masks", np.array(masks)))

    def depth(self, image, picture):
        return self.spoilt("depth", self.of(image).depth)

    def people(self, image):
        joints = self.of(image).joints * np.array(image.size)
        keypoints = self.spoilt("keypoints", np.column_stack([joints, np.ones(17)])).tolist()
        return [
            {**person, "keypoints": keypoints, "expression": None} for person in self.boxes(image)
        ]

    def texts(self, image):
        (box,), text = self.boxes(image), self.of(image).about["text"]
        return [{"text": self.spoilt("texts", text), "confidence": 0.9, "box": box["box"]}]


class TrueLight(Light):
    """Finds the light by the score's own arithmetic."""

    def look(self, image, picture):
        found = super().look(image, picture)
        for pair in found["pairs"]:
            for end in ("top", "tip"):
                x, y, z = pair[end]
                pair[end] = [self.sight.spoilt("x", x), y, self.sight.spoilt("z", z)]
        return found


class TrueDetector:
    """Counts what is there; of the drawn things that are asked for."""

    told, settings = Model("truth", "1"), {}

    def __init__(self, eyes):
        self.eyes = eyes

    def look(self, images, names):
        return [
            {
                "labels": {name: name for name in some},
                "boxes": [box for box in self.eyes.boxes(image) if box["label"] in some],
            }
            for image, some in zip(images, names, strict=True)
        ]


class TrueClip(TrueDetector):
    """Likes the name of what is drawn."""

    def look(self, images, names):
        found = []
        for image, some in zip(images, names, strict=True):
            true = self.eyes.of(image).boxes[0]["label"]
            like = {name: float(name == true) for name in (*VOCABULARY, *some)}
            like = self.eyes.spoilt("similarities", like)
            found.append(
                {
                    WAY: [like[name] for name in VOCABULARY],
                    "own": {name: {WAY: like[name]} for name in some},
                    "scale": 100.0,
                }
            )
        return found


def true_assessors(scenes, faults=()):
    """Return assessors of every kind of scene, by a short name."""
    eyes = TrueEyes(scenes, faults)
    return {
        "gimbrr": GimbrrAssessor(Published(), TrueClip(eyes), TrueDetector(eyes)),
        "text": TextRenderingScore(read=eyes.texts),
        "light": TrueLight(eyes),
        "penetration": PenetrationScore(eyes),
        "characters": Characters(eyes),
    }
