"""Penetration (PSC): whether solids whose masks meet also intersect in depth."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from pqpp_feedback.assess.assessor import DIGITS, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import load_params
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.vision import Vision
from pqpp_metrics.functional.vistar import penetration

Mask = NDArray[np.bool_]
_MIN_RELIEF = 1e-5  # as a fraction of the mean depth; smaller differences are rounding errors


class PenetrationScore(VistarScore):
    """The lowest score of a pair of touching solids, as in VISTAR's section 3.3.5.

    Args:
        vision: The models that find objects and depth; not needed to score stored evidence.
        weighting: `corrected`, which gives uncertain or short contacts little weight, or `printed`,
            the paper's formula. The routine's name contains the weighting.

    Example:
        >>> from pathlib import Path
        >>> seen = {"objects": 2, "labels": ["a", "b"], "pairs": []}
        >>> PenetrationScore().score(seen, Picture(Path("a.png"), "")).reason
        'no two objects touch'
    """

    angle = "PSC"
    roles = ("detector", "segmenter", "depth")
    options = ("weighting",)

    def __init__(self, vision: Vision | None = None, weighting: str | None = None) -> None:
        super().__init__(vision)
        self.weighting = weighting or load_params(self.section)["weighting"]
        self.routine += f"-{self.weighting}"

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the pairs of objects that touch in the image, with their depths."""
        objects, masks = self.vision.find_objects(image, picture)
        depth = self.vision.estimate_depth(image, picture)
        return {
            "objects": len(masks),
            "labels": [item["label"] for item in objects],
            "seen": objects,
            "depths": [float(np.median(depth[mask])) for mask in masks],
            "pairs": find_contacts(masks, depth, [item["score"] for item in objects]),
        }

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the lowest score of all pairs; 0 means that one object penetrates another."""
        if evidence["objects"] < 2:
            return Verdict(None, None, f"{evidence['objects']} object(s) found; two are needed")
        params, pairs = load_params(self.section), evidence["pairs"]
        if self.weighting == "printed":
            pairs = [pair for pair in pairs if pair["contact"] >= params["least_contact"]]
        if not pairs:
            return Verdict(None, params["without_pairs"], "no two objects touch")
        weighted = score_pairs(pairs, self.weighting)
        worst = int(np.argmin(weighted))
        names = " and ".join(evidence["labels"][number] for number in pairs[worst]["objects"])
        score = float(np.clip(weighted[worst], 0, 1))
        return Verdict(None, score, f"nearest to a penetration: {names}")


def score_pairs(pairs: Sequence[Mapping[str, Any]], weighting: str) -> NDArray[np.float64]:
    """Return the weighted score of each pair; it is low if one solid is inside the other.

    Args:
        pairs: The output of `find_contacts`.
        weighting: `corrected` or `printed`.

    Example:
        >>> pair = {"overlap": [1, 1], "outside": [1, 3], "confidences": [1, 0.8], "contact": 1}
        >>> score_pairs([{**pair, "relief": 2, "enclosed": 0}], "corrected").round(2).tolist()
        [0.2]
    """
    params = load_params("penetration")

    def get_values(name: str) -> NDArray[np.float64]:
        return np.array([pair[name] for pair in pairs], dtype=float)

    relief, confidences = get_values("relief")[:, None], get_values("confidences")
    if weighting == "corrected":
        confidences[:, 0] *= np.minimum(get_values("contact") / params["full_contact"], 1)
    depths = get_values("overlap") / relief, get_values("outside") / relief
    options = {"epsilon": params["epsilon"], "weighting": weighting}
    weighted = penetration(*depths, confidences, **options)["weighted"]
    relaxed = 1 - params["attachment_relief"] * (1 - np.minimum(weighted, 1))
    return np.where(get_values("enclosed") >= params["attachment_enclosure"], relaxed, weighted)


def find_contacts(masks: Mask, depth: NDArray, confidences: Sequence[float]) -> list[dict]:
    """Return the pairs of objects whose surfaces touch, with each object's depth at the contact.

    Args:
        masks: (objects, height, width); shared pixels belong to the smaller mask.
        depth: (height, width), in any unit.
        confidences: One per mask, in [0, 1].

    Returns:
        list: One dict per touching pair: `objects`, the indices of the two objects; `overlap`, each
        object's mean depth in a ring around the line at which the surfaces meet; `outside`, each
        object's mean depth elsewhere; `relief`, the sum of the two standard deviations of depth;
        `contact`, the line's length divided by the square root of the smaller area; `enclosed`, the
        share of the smaller bounding box inside the larger one; `confidences`, those of the two
        masks.

    Example:
        >>> masks = np.zeros((2, 20, 20), bool)
        >>> masks[0, 5:15, 2:10] = masks[1, 5:15, 10:18] = True
        >>> depth = 2 + np.mgrid[:20, :20][1] / 100.0  # one continuous surface
        >>> (pair,) = find_contacts(masks, depth, [0.9, 0.8])
        >>> pair["objects"], pair["contact"] > 0.5, pair["enclosed"]
        ([0, 1], True, 0.0)
    """
    pairs, sizes = [], masks.sum((1, 2))
    for first, second in itertools.combinations(range(len(masks)), 2):
        a, b = masks[first], masks[second]
        if sizes[first] <= sizes[second]:
            b = b & ~a
        else:
            a = a & ~b
        pair = _get_contact(a, b, depth)
        if pair is not None:
            pair["objects"] = [first, second]
            pair["confidences"] = [float(confidences[first]), float(confidences[second])]

            firsts, lasts = zip(_get_bounds(masks[first]), _get_bounds(masks[second]), strict=True)
            sides = np.min(lasts, axis=0) - np.max(firsts, axis=0) + 1
            areas = np.prod(np.subtract(lasts, firsts) + 1, axis=1)
            pair["enclosed"] = float(np.prod(np.maximum(sides, 0)) / areas.min())
            pairs.append(pair)
    return pairs


def _get_bounds(mask: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last row and column of a mask."""
    positions = np.argwhere(mask)
    return positions.min(axis=0), positions.max(axis=0)


def _get_contact(a: Mask, b: Mask, depth: NDArray) -> dict[str, Any] | None:
    """Return `overlap`, `outside`, `relief` and `contact` of `find_contacts`; None without one."""
    params, square = load_params("penetration"), np.ones((3, 3), bool)
    if not a.any() or not b.any():
        return None
    firsts, lasts = zip(_get_bounds(a), _get_bounds(b), strict=True)
    if (np.max(firsts, axis=0) > np.min(lasts, axis=0) + 2).any():
        return None
    low, high = np.maximum(np.min(firsts, axis=0) - 2, 0), np.max(lasts, axis=0) + 3
    a, b, depth = (part[low[0] : high[0], low[1] : high[1]] for part in (a, b, depth))
    boundary = ndimage.binary_dilation(a, square) & ndimage.binary_dilation(b, square)
    relief = float(depth[a].std() + depth[b].std())
    if not boundary.any() or relief <= max(_MIN_RELIEF * float(depth.mean()), 10.0**-DIGITS):
        return None
    depth_a, slope_a = _extrapolate(a, depth, boundary)
    depth_b, slope_b = _extrapolate(b, depth, boundary)
    tolerance = params["meeting_slope"] * (slope_a + slope_b)
    meets = np.abs(depth_a - depth_b) < tolerance + params["meeting_relief"] * relief
    line = np.zeros(a.shape, bool)
    line[boundary] = meets
    ring = ndimage.binary_dilation(line, square, iterations=params["ring_pixels"])
    regions = [mask & side for side in (ring, ~ring) for mask in (a, b)]
    if not all(part.any() for part in regions):  # an empty ring means that no point meets
        return None
    depths = [float(depth[part].mean()) for part in regions]
    # The boundary is two pixels wide, one pixel in each mask.
    contact = float(meets.sum() / 2 / np.sqrt(min(a.sum(), b.sum())))
    return {"overlap": depths[:2], "outside": depths[2:], "relief": relief, "contact": contact}


def _extrapolate(mask: Mask, depth: NDArray, boundary: Mask) -> tuple[NDArray, NDArray]:
    """Return a surface's extrapolated depth at a rim, and its slope per pixel."""
    core = ndimage.binary_erosion(mask, np.ones((3, 3), bool), iterations=2)
    core = core if core.any() else mask
    options = {"return_distances": False, "return_indices": True}
    nearest_in_mask = ndimage.distance_transform_edt(~mask, **options)
    nearest_in_core = ndimage.distance_transform_edt(~core, **options)
    rows, columns = np.nonzero(boundary)
    edge = tuple(nearest_in_mask[:, rows, columns])
    inner = tuple(nearest_in_core[:, edge[0], edge[1]])
    step = np.hypot(inner[0] - edge[0], inner[1] - edge[1])
    distance = np.hypot(rows - edge[0], columns - edge[1])
    slope = np.where(step > 0, (depth[edge] - depth[inner]) / np.maximum(step, 1), 0.0)
    return depth[edge] + slope * distance, np.abs(slope)
