"""Geometry (GC): the worst of six cues."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.assess.pictures import ENDINGS, Picture, open_picture
from pqpp_feedback.vistar import cues
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.padim import fit_padim
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.sight import Sight, smaller
from pqpp_files.hashes import sha256_of, sha256_of_parts
from pqpp_metrics.functional.vistar import geometric_minimum

CUES = ("normals", "curvature", "highlights", "contours", "texture", "anomaly")


class Geometry(VistarScore):
    """The lowest of six cues, each scaled to [0, 1], after VISTAR's section 3.3.6.

    Args:
        sight: What tells depth and features; not needed to score kept evidence.
        references: Images without flaws that the sixth cue compares with; without them it is left
            out, and the reason says so.

    Example:
        >>> from pathlib import Path
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> seen |= {"texture": 1, "anomaly": None}
        >>> Geometry().score(seen, Picture(Path("a.png"), "")).score
        0.5
    """

    section, angle = "geometry", "GC"
    inputs: ClassVar = {}

    def __init__(
        self, sight: Sight | None = None, references: Sequence[str | Path] | None = None
    ) -> None:
        roles = ("depth", "anomaly") if references else ("depth",)
        super().__init__(sight.told(*roles) if sight else None)
        self._sight, self._padim, self._references = sight, None, ""
        if sight and references:
            files = sorted(map(Path, references))
            self._references = sha256_of_parts(f"{sha256_of(file)}\n" for file in files)
            seen = [sight.features(open_picture(file), self.timed) for file in files]
            self._padim = fit_padim(seen)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The choices, and which reference images there were."""
        return {**super().settings, "references": self._references}

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the raw cues."""
        assert self._sight is not None
        pixels = np.asarray(smaller(image)) / 255.0
        seen = raw_cues(pixels, self._sight.depth(image, picture, self.timed))
        if self._padim:
            features = self._sight.features(image, self.timed)
            seen["anomaly"] = [self._padim.distance(features), self._padim.usual]
        return seen

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the lowest cue, and which it is."""
        scores = cue_scores(evidence)
        told = [1.0 if one is None else one for one in scores.values()]
        lowest = float(geometric_minimum([told])[0])
        known = {name: one for name in CUES if (one := scores[name]) is not None}
        worst = min(known, key=lambda name: known[name])
        reason = ", ".join(
            f"{name} {'none' if one is None else format(one, '.2f')}"
            for name, one in scores.items()
        )
        left_out = "" if scores["anomaly"] is not None else "; no references for the anomaly"
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


def reference_files(folder: str | Path) -> list[Path]:
    """Return the images of a folder, sorted.

    Raises:
        AssessError: There is none.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "b.png").touch(), (folder / "a.jpg").touch(), (folder / "notes.txt").touch()
        (None, None, None)
        >>> [path.name for path in reference_files(folder)]
        ['a.jpg', 'b.png']
    """
    root = Path(folder).expanduser()
    found = sorted(path for path in root.rglob("*") if path.suffix.lower() in ENDINGS)
    if not found:
        raise AssessError(f"{root} holds no image ({', '.join(ENDINGS)}); name a folder with some")
    return found
