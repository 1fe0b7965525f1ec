"""Light (LI): where the shadows say that the light stands, beside where the prompt wants it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.score import VistarScore, asked
from pqpp_feedback.vistar.shadows import cast_shadows
from pqpp_feedback.vistar.sight import Sight, smaller
from pqpp_metrics.functional.vistar import light_direction


class Light(VistarScore):
    """Angle between inferred and wanted direction of the light, after VISTAR's section 3.3.2.

    Args:
        sight: What finds objects and depth; not needed to score kept evidence.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "A vase, light from upper-left front.")
        >>> Light().score({"objects": 0, "pairs": []}, picture).reason
        'no object was found'
    """

    section, angle = "light", "LI"
    inputs: ClassVar = {"light": "one of the 16 phrases; else the one that the prompt holds"}

    def __init__(self, sight: Sight | None = None) -> None:
        super().__init__(sight.told("detector", "segmenter", "depth") if sight else None)
        self._sight = sight

    def lacking(self, picture: Picture) -> str:
        """Return why no direction is wanted; empty where one is."""
        if wanted_light(picture) is not None:
            return ""
        return "the prompt names none of the 16 directions of light in vistar_choices.yaml"

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the objects with the shadows that they cast."""
        assert self._sight is not None
        objects = self._sight.objects(image, picture, self.timed)
        depth = self._sight.depth(image, picture, self.timed)
        found = cast_shadows(np.asarray(smaller(image)) / 255.0, objects.masks, depth)
        return {**found, "seen": objects.seen}

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return 1 - angle / 90 degrees between the pairs' median and the wanted direction."""
        found = inferred_light(evidence)
        if found is None:
            if not evidence["objects"]:
                return Verdict(None, None, "no object was found")
            if not evidence["floor"]:
                return Verdict(None, None, "no floor was found that a shadow could lie on")
            why = "; ".join(sorted(set(evidence["left_out"]))) or "no cast shadow was found"
            return Verdict(None, None, why)
        wanted = wanted_light(picture)
        assert wanted is not None
        score = float(light_direction([found], [wanted])[0])
        cosine = float(np.clip(found @ wanted / np.linalg.norm(wanted), -1, 1))
        degrees = np.degrees(np.arccos(cosine))
        pairs = len(evidence["pairs"])
        reason = f"light {degrees:.0f} degrees off, from {pairs} object(s) with a shadow"
        return Verdict(None, score, reason)


def inferred_light(evidence: Mapping[str, Any]) -> np.ndarray | None:
    """Return the unit vector to the light: the median over objects of the line from tip to top.

    Example:
        >>> pair = {"top": [0, 1, 0], "tip": [1, 0, 0]}
        >>> inferred_light({"pairs": [pair]}).round(3).tolist()
        [-0.707, 0.707, 0.0]
    """
    pairs = evidence["pairs"]
    if not pairs:
        return None
    lines = np.array([np.subtract(pair["top"], pair["tip"]) for pair in pairs], dtype=float)
    lines = lines[np.linalg.norm(lines, axis=1) > 0]
    if not len(lines):
        return None
    median = np.median(lines / np.linalg.norm(lines, axis=1, keepdims=True), axis=0)
    length = np.linalg.norm(median)
    return median / length if length > 0 else None


def wanted_light(picture: Picture) -> np.ndarray | None:
    """Return the direction of the light that a prompt names, the longest phrase first; or None.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "A vase, light from upper-left front.")
        >>> wanted_light(picture).round(2).tolist()
        [-0.5, 0.71, 0.5]
    """
    text = _words(str(asked(picture, "light") or picture.prompt))
    phrases = choices("light")["phrases"]
    for phrase in sorted(phrases, key=len, reverse=True):
        if re.search(rf"\b{re.escape(_words(phrase))}\b", text):
            vector = np.array(phrases[phrase], dtype=float)
            return vector / np.linalg.norm(vector)
    return None


def _words(text: str) -> str:
    return " ".join(re.sub(r"[^a-z]+", " ", text.lower()).split())
