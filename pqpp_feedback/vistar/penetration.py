"""Penetration (PSC): whether solids meet in depth where their masks meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.sight import Sight
from pqpp_metrics.functional.vistar import penetration

Mask = NDArray[np.bool_]
WEIGHTINGS = ("corrected", "printed")


class PenetrationScore(VistarScore):
    """The worst sign of one solid inside another, after VISTAR's section 3.3.5.

    Args:
        sight: What finds objects and depth; not needed to score kept evidence.
        weighting: `corrected`, where an unsure or short contact weighs little, or `printed`, the
            paper's product. The routine's name says which.

    Example:
        >>> from pathlib import Path
        >>> seen = {"objects": 2, "labels": ["a", "b"], "pairs": []}
        >>> PenetrationScore().score(seen, Picture(Path("a.png"), "")).reason
        'no two objects meet'
    """

    section, angle = "penetration", "PSC"
    inputs: ClassVar = {}

    def __init__(self, sight: Sight | None = None, weighting: str | None = None) -> None:
        super().__init__(sight.told("detector", "segmenter", "depth") if sight else None)
        self._sight = sight
        self.weighting = weighting or choices(self.section)["weighting"]
        if self.weighting not in WEIGHTINGS:
            raise AssessError(
                f"`weighting` is {self.weighting!r}; choose among {', '.join(WEIGHTINGS)}"
            )
        self.routine += f"-{self.weighting}"

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the pairs of objects that meet in the picture, with their depths."""
        assert self._sight is not None
        objects = self._sight.objects(image, picture, self.timed)
        depth = self._sight.depth(image, picture, self.timed)
        return {
            "objects": len(objects.masks),
            "labels": [one["label"] for one in objects.seen],
            "seen": objects.seen,
            "pairs": meeting_pairs(objects.masks, depth, [one["score"] for one in objects.seen]),
        }

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the lowest conflict of all pairs; 0 is a penetration."""
        if evidence["objects"] < 2:
            return Verdict(None, None, f"{evidence['objects']} object(s); two can penetrate")
        chosen, pairs = choices(self.section), evidence["pairs"]
        if self.weighting == "printed":
            pairs = [pair for pair in pairs if pair["contact"] >= chosen["least_contact"]]
        if not pairs:
            return Verdict(None, chosen["without_pairs"], "no two objects meet")
        weighted = conflicts(pairs, self.weighting)
        worst = int(np.argmin(weighted))
        names = [evidence["labels"][number] for number in pairs[worst]["objects"]]
        score = float(np.clip(weighted[worst], 0, 1))
        return Verdict(None, score, f"nearest to a penetration: {' and '.join(names)}")


def conflicts(pairs: Sequence[Mapping[str, Any]], weighting: str) -> NDArray[np.float64]:
    """Return the weighted conflict of each pair, low where one solid is inside another.

    Args:
        pairs: As `meeting_pairs` returns them.
        weighting: One of `WEIGHTINGS`.

    Example:
        >>> pair = {"overlap": [1, 1], "outside": [1, 3], "confidences": [1, 0.8], "contact": 1}
        >>> conflicts([{**pair, "relief": 2, "enclosed": 0}], "corrected").round(2).tolist()
        [0.2]
    """
    chosen = choices("penetration")
    relief = np.array([pair["relief"] for pair in pairs], dtype=float)[:, None]
    confidences = np.array([pair["confidences"] for pair in pairs], dtype=float)
    if weighting == "corrected":
        contact = np.array([pair["contact"] for pair in pairs], dtype=float)
        confidences[:, 0] *= np.minimum(contact / chosen["full_contact"], 1)
    found = penetration(
        np.array([pair["overlap"] for pair in pairs]) / relief,
        np.array([pair["outside"] for pair in pairs]) / relief,
        confidences,
        epsilon=chosen["epsilon"],
        weighting=weighting,
    )["weighted"]
    attached = np.array([p["enclosed"] >= chosen["attachment_enclosure"] for p in pairs])
    relaxed = 1 - chosen["attachment_relief"] * (1 - np.minimum(found, 1))
    return np.where(attached, relaxed, found)


def meeting_pairs(
    masks: Mask, depth: NDArray[np.floating], confidences: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the pairs of objects whose surfaces meet, with each object's depth there.

    Args:
        masks: (objects, height, width); pixels of two masks are the smaller one's.
        depth: (height, width), in any unit.
        confidences: Of each mask, in [0, 1].

    Returns:
        list: A pair each: `objects`, two numbers; `overlap`, each one's mean depth in a ring
        around the line where the surfaces meet; `outside`, elsewhere; `relief`, the sum of both
        standard deviations of depth; `contact`, the line's length over the root of the smaller
        area; `enclosed`, the share of the smaller box in the larger; `confidences`.

    Example:
        >>> masks = np.zeros((2, 20, 20), bool)
        >>> masks[0, 5:15, 2:10] = masks[1, 5:15, 10:18] = True
        >>> depth = 2 + np.mgrid[:20, :20][1] / 100.0  # one surface runs on into the other
        >>> (pair,) = meeting_pairs(masks, depth, [0.9, 0.8])
        >>> pair["objects"], pair["contact"] > 0.5, pair["enclosed"]
        ([0, 1], True, 0.0)
    """
    found = []
    sizes = masks.sum((1, 2))
    for one in range(len(masks)):
        for other in range(one + 1, len(masks)):
            a, b = masks[one], masks[other]
            if sizes[one] <= sizes[other]:
                b = b & ~a
            else:
                a = a & ~b
            around = _around(a, b)
            if around is None:
                continue
            pair = _meeting(a[around], b[around], depth[around])
            if pair is not None:
                pair["objects"] = [one, other]
                pair["confidences"] = [float(confidences[one]), float(confidences[other])]
                pair["enclosed"] = _enclosed(masks[one], masks[other])
                found.append(pair)
    return found


def _around(a: Mask, b: Mask) -> tuple[slice, slice] | None:
    """Return the part of the picture that holds both; None where they are far apart."""
    if not a.any() or not b.any():
        return None
    one, other = _box(a), _box(b)
    if any(one[i] > other[i + 2] + 2 or other[i] > one[i + 2] + 2 for i in (0, 1)):
        return None
    top, left = (max(min(one[i], other[i]) - 2, 0) for i in (0, 1))
    bottom, right = (max(one[i], other[i]) + 3 for i in (2, 3))
    return slice(top, bottom), slice(left, right)


def _box(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(rows[0]), int(columns[0]), int(rows[-1]), int(columns[-1])


def _enclosed(a: Mask, b: Mask) -> float:
    """Return the share of the smaller bounding box that lies in the larger one."""
    one, other = _box(a), _box(b)
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (one, other)]
    sides = [min(one[i + 2], other[i + 2]) - max(one[i], other[i]) + 1 for i in (0, 1)]
    return max(sides[0], 0) * max(sides[1], 0) / min(areas)


def _meeting(a: Mask, b: Mask, depth: NDArray) -> dict[str, Any] | None:
    """Return the depths and the length of the line where two surfaces meet; None where nowhere."""
    from scipy import ndimage

    chosen, square = choices("penetration"), np.ones((3, 3), bool)
    rim = ndimage.binary_dilation(a, square) & ndimage.binary_dilation(b, square)
    relief = float(depth[a].std() + depth[b].std())
    if not rim.any() or relief <= 0:
        return None
    (one, slope), (other, slope_of_other) = (_continued(mask, depth, rim) for mask in (a, b))
    allowed = chosen["meeting_slope"] * (slope + slope_of_other)
    meets = np.abs(one - other) < allowed + chosen["meeting_relief"] * relief
    if not meets.any():
        return None
    line = np.zeros(a.shape, bool)
    line[rim] = meets
    ring = ndimage.binary_dilation(line, square, iterations=chosen["ring_pixels"])
    parts = [mask & side for side in (ring, ~ring) for mask in (a, b)]
    if not all(part.any() for part in parts):
        return None
    depths = [float(depth[part].mean()) for part in parts]
    return {
        "overlap": depths[:2],
        "outside": depths[2:],
        "relief": relief,
        # The rim is two pixels wide, one on each side.
        "contact": float(meets.sum() / 2 / np.sqrt(min(a.sum(), b.sum()))),
    }


def _continued(mask: Mask, depth: NDArray, rim: Mask) -> tuple[NDArray, NDArray]:
    """Return the depth that a surface would have at the rim, and its slope there, a pixel."""
    from scipy import ndimage

    inner = ndimage.binary_erosion(mask, np.ones((3, 3), bool), iterations=2)
    inner = inner if inner.any() else mask
    y, x = np.nonzero(rim)
    to_own = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
    to_inner = ndimage.distance_transform_edt(~inner, return_distances=False, return_indices=True)
    near = to_own[0][y, x], to_own[1][y, x]
    deep = to_inner[0][near], to_inner[1][near]
    step = np.hypot(deep[0] - near[0], deep[1] - near[1])
    out = np.hypot(y - near[0], x - near[1])
    slope = np.where(step > 0, (depth[near] - depth[deep]) / np.maximum(step, 1), 0.0)
    return depth[near] + slope * out, np.abs(slope)
