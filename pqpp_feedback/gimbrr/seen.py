"""What was seen of an image, as scoring reads it: similarities of names, and detected boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pqpp_feedback.gimbrr.asked import VOCABULARY

TEMPLATES = {
    "bare": ("{}",),
    "photo": ("a photo of a {}.", "a picture of a {}.", "a drawing of a {}.", "an image of {}."),
}
"""How names are put to CLIP: as in the authors' code, and as CLIP was trained; ours to choose."""


class Seen:
    """Evidence of an image.

    Args:
        evidence: As `pqpp_feedback.gimbrr.assessor` keeps it.

    Example:
        >>> cat = {"label": "cat", "score": 0.9}
        >>> seen = Seen({"detector": {"labels": {"cat": "cat", "hat": None}, "boxes": [cat]}})
        >>> seen.scores_of("cat"), seen.can_emit("hat"), seen.has("clip")
        ([0.9], False, False)
    """

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self._clip: Any = evidence.get("clip")
        self._detector: Any = evidence.get("detector")

    def has(self, eye: str) -> bool:
        """Return whether an eye, `clip` or `detector`, has looked."""
        return (self._clip if eye == "clip" else self._detector) is not None

    def similarity(self, name: str, template: str) -> float:
        """Return CLIP's similarity of the image to a name of the prompt or of `VOCABULARY`."""
        own = self._clip["own"].get(name)
        return own[template] if own else self._clip[template][VOCABULARY.index(name)]

    @property
    def scale(self) -> float:
        """The factor that CLIP learned for its similarities."""
        return self._clip["scale"]

    def can_emit(self, name: str) -> bool:
        """Return whether the detector can find such an object."""
        return self._detector["labels"].get(name) is not None

    def scores_of(self, name: str) -> list[float]:
        """Return the scores of the boxes of an object, highest first."""
        label = self._detector["labels"].get(name)
        found = (box["score"] for box in self._detector["boxes"] if box["label"] == label)
        return sorted(found, reverse=True)
