"""Composed scenes (CSE): whether each panel shows its part, and all show the same subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.panels import grid_of, grid_panels, gutter_panels
from pqpp_feedback.vistar.score import VistarScore, asked, listed
from pqpp_feedback.vistar.sight import Sight
from pqpp_metrics.functional.vistar import scene_composition


class ComposedScene(VistarScore):
    """Root of coverage times consistency over the panels, after VISTAR's section 3.3.3.

    Args:
        sight: What compares panels and finds the subject; not needed to score kept evidence.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "", about={"panels": "a; b", "subject": "a cat"})
        >>> seen = {"panels": [0, 1], "found": [0, 1], "similarity": [[0.4, 0], [0, 0.4]]}
        >>> ComposedScene().score({**seen, "likeness": [[1, 0.81], [0.81, 1]]}, picture).score
        0.9
    """

    section, angle = "composed_scene", "CSE"
    inputs: ClassVar = {
        "panels": "the text of each panel, in any order",
        "subject": "who or what is in all of them",
        "layout": "rows x columns, as 2x2; else panels are found by the gutters between them",
    }

    def __init__(self, sight: Sight | None = None) -> None:
        roles = ("similarity", "detector", "segmenter", "features")
        super().__init__(sight.told(*roles) if sight else None)
        self._sight = sight

    def lacking(self, picture: Picture) -> str:
        """Return what the prompt does not tell; empty where it tells all."""
        for name in ("panels", "subject"):
            if not listed(asked(picture, name)):
                return f"the prompt lists no `{name}`"
        return ""

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the panels, their similarity to each text, and the subject's to itself."""
        assert self._sight is not None
        texts, subject = listed(asked(picture, "panels")), str(asked(picture, "subject"))
        how, boxes = panels_of(image, asked(picture, "layout"), len(texts))
        parts = [image.crop(box) for box in boxes]
        subjects = [self._sight.subject(part, subject, self.timed) for part in parts]
        seen = {number: one for number, one in enumerate(subjects) if one is not None}
        return {
            "how": how,
            "panels": boxes,
            "similarity": self._sight.similarity(parts, texts, self.timed).tolist(),
            "found": list(seen),
            "likeness": _cosines(list(seen.values())),
        }

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the root of coverage times consistency."""
        if len(evidence["panels"]) < 2:
            return Verdict(None, None, "no panels were found, and the prompt names no `layout`")
        covered = scene_coverage(evidence["similarity"])
        alike = consistency(evidence["likeness"])
        number, panels = len(evidence["found"]), len(evidence["panels"])
        said = f"coverage {covered:.2f}; subject found in {number} of {panels} panels"
        if alike is None:
            alike = choices(self.section)["too_few_finds"]
        else:
            said += f", consistency {alike:.2f}"
        score = float(scene_composition([covered], [np.clip(alike, -1, 1)])[0])
        return Verdict(None, score, said)


def panels_of(image: Any, layout: Any, texts: int) -> tuple[str, list[list[int]]]:
    """Return how the panels of an image were found, `gutters` or `grid`, and their boxes.

    Gutters are taken where they give as many panels as the layout or, without one, as the prompt
    has texts or at least two.

    Example:
        >>> from PIL import Image
        >>> panels_of(Image.new("RGB", (40, 20)), "1x2", 2)
        ('grid', [[0, 0, 20, 20], [20, 0, 40, 20]])
    """
    grid = grid_of(layout)
    boxes = gutter_panels(np.asarray(image))
    wanted = grid[0] * grid[1] if grid else texts
    if len(boxes) == wanted or (grid is None and len(boxes) > 1):
        return "gutters", boxes
    return ("grid", grid_panels(image.size, grid)) if grid else ("none", boxes)


def scene_coverage(similarity: Sequence[Sequence[float]]) -> float:
    """Return the mean over texts of the best panel's similarity, scaled to [0, 1].

    Args:
        similarity: Cosines, a row a panel, a column a text.

    Example:
        >>> round(scene_coverage([[0.2, 0.1], [0.1, 0.3]]), 4)  # (.5 + .75) / 2
        0.625
    """
    scale = choices("composed_scene")["similarity_scale"]
    return float(np.clip(scale * np.array(similarity), 0, 1).max(0).mean())


def consistency(likeness: Sequence[Sequence[float]]) -> float | None:
    """Return the mean cosine over pairs of found subjects; None for fewer than two.

    Example:
        >>> round(consistency([[1, 0.8, 0.6], [0.8, 1, 0.7], [0.6, 0.7, 1]]), 4)
        0.7
    """
    if len(likeness) < 2:
        return None
    above = np.triu_indices(len(likeness), 1)
    return float(np.array(likeness)[above].mean())


def _cosines(vectors: Sequence[np.ndarray]) -> list[list[float]]:
    if not vectors:
        return []
    unit = np.array([one / max(np.linalg.norm(one), 1e-12) for one in vectors])
    return (unit @ unit.T).tolist()
