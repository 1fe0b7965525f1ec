"""Geometry (GC): the worst of six cues."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture, image_files, open_picture
from pqpp_feedback.vistar import cues
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.cues import fit_padim
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.sight import Sight, smaller
from pqpp_files.hashes import sha256_of, sha256_of_parts
from pqpp_metrics.functional.vistar import geometric_minimum

CUES = ("normals", "curvature", "highlights", "contours", "texture", "anomaly")


class Geometry(VistarScore):
    """The lowest of six cues, each scaled to [0, 1], after VISTAR's section 3.3.6.

    Args:
        sight: What tells depth and features; not needed to score kept evidence.
        flawless_dir: A folder of images without flaws that the sixth cue compares with; without it
            the cue is left out, and the reason says so.

    Example:
        >>> from pathlib import Path
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> seen |= {"texture": 1, "anomaly": None}
        >>> Geometry().score(seen, Picture(Path("a.png"), "")).score
        0.5
    """

    angle = "GC"
    roles = ("depth",)
    options = ("flawless_dir",)

    def __init__(self, sight: Sight | None = None, flawless_dir: str | None = None) -> None:
        super().__init__(sight)
        self._padim, self._references = None, ""
        if sight and flawless_dir:
            self.models |= sight.told("anomaly")
            files = image_files(Path(flawless_dir))
            self._references = sha256_of_parts(f"{sha256_of(file)}\n" for file in files)
            seen = [self.sight.features(open_picture(file)) for file in files]
            self._padim = fit_padim(seen)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The choices, and which reference images there were."""
        return {**super().settings, "references": self._references}

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the raw cues."""
        pixels = np.asarray(smaller(image)) / 255.0
        seen = raw_cues(pixels, self.sight.depth(image, picture))
        if self._padim:
            seen["anomaly"] = [self._padim.distance(self.sight.features(image)), self._padim.usual]
        return seen

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the lowest cue, and which it is."""
        scores = cue_scores(evidence)
        known = {name: score for name in CUES if (score := scores[name]) is not None}
        lowest = float(geometric_minimum([[known.get(name, 1.0) for name in scores]])[0])
        texts = {name: f"{known[name]:.2f}" if name in known else "none" for name in scores}
        reason = ", ".join(f"{name} {score}" for name, score in texts.items())
        left_out = "" if "anomaly" in known else "; no references for the anomaly"
        worst = min(known, key=known.__getitem__)
        return Verdict(None, lowest, f"lowest is {worst}: {reason}{left_out}")


def raw_cues(pixels: np.ndarray, depth: np.ndarray) -> dict[str, Any]:
    """Return the five cues that need no references, as they are measured.

    Args:
        pixels: (height, width, 3), 0 to 1.
        depth: (height, width), distance along the view.

    Example:
        >>> found = raw_cues(np.zeros((32, 32, 3)), np.ones((32, 32)))  # flat and even
        >>> found["normals"], found["contours"][0], found["anomaly"]
        (0.0, 0, None)
    """
    return {
        "normals": cues.normals_dispersion(depth),
        "curvature": cues.depth_curvature(depth),
        "highlights": list(cues.highlight_pieces(pixels)),
        "contours": list(cues.contour_pieces(pixels)),
        "texture": cues.uniform_patterns(pixels),
        "anomaly": None,
    }


def cue_scores(evidence: Mapping[str, Any]) -> dict[str, float | None]:
    """Return each cue scaled to [0, 1], 1 without a flaw; None where it was not measured.

    Example:
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> cue_scores({**seen, "texture": 1, "anomaly": [4, 2]})["highlights"]
        0.5
    """
    chosen = choices("geometry")
    spots, highlights = evidence["highlights"]
    pieces, edge = evidence["contours"]
    chance = chosen["uniform_by_chance"]
    scores = {
        "normals": math.exp(-evidence["normals"] / chosen["normals_scale"]),
        "curvature": math.exp(-evidence["curvature"] / chosen["curvature_scale"]),
        "highlights": min(spots / highlights, 1.0) if highlights else 1.0,
        "contours": math.exp(-1000 * pieces / edge / chosen["contours_scale"]) if edge else 1.0,
        "texture": max(evidence["texture"] - chance, 0.0) / (1 - chance),
        "anomaly": None,
    }
    if evidence["anomaly"] is not None:
        distance, usual = evidence["anomaly"]
        scores["anomaly"] = math.exp(-max(distance / max(usual, 1e-9) - 1, 0.0))
    return scores
