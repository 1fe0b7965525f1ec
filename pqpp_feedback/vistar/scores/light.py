"""Light (LI): the direction that the shadows imply, compared with the requested one."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import get_param, load_params
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.scores.geometry import label_components
from pqpp_feedback.vistar.vision import shrink_image
from pqpp_metrics.functional.vistar import light_direction

Mask = NDArray[np.bool_]
_EXTREME = 0.98  # quantile; more extreme values are depth errors or at the edge of a mask


class Light(VistarScore):
    """The agreement of inferred and requested light direction, as in VISTAR's section 3.3.2.

    Input: `light`, one of the 16 phrases (default: the one in the prompt).

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "A vase, light from upper-left front.")
        >>> Light().score({"objects": 0, "pairs": []}, picture).reason
        'no object was found'
    """

    angle = "LI"
    roles = ("detector", "segmenter", "depth")
    inputs = ("light",)

    def explain_missing(self, picture: Picture) -> str:
        """Return why the prompt cannot be scored; empty if it names a direction."""
        if parse_light_direction(picture) is not None:
            return ""
        return "the prompt names none of the 16 directions of light in vistar_choices.yaml"

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the objects with their cast shadows."""
        objects, masks = self.vision.find_objects(image, picture)
        depth = self.vision.estimate_depth(image, picture)
        shadows = find_shadows(np.asarray(shrink_image(image)) / 255.0, masks, depth)
        return {**shadows, "seen": objects}

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return 1 - (angle between the inferred and the requested direction) / 90 degrees."""
        light, requested = infer_direction(evidence), parse_light_direction(picture)
        if light is None:
            if not evidence["objects"]:
                reason = "no object was found"
            elif not evidence["floor"]:
                reason = "no floor was found that a shadow could lie on"
            else:
                reason = "; ".join(sorted(set(evidence["left_out"]))) or "no cast shadow was found"
            return Verdict(None, None, reason)
        assert requested is not None
        score = float(light_direction([light], [requested])[0])
        cosine = float(np.clip(light @ requested / np.linalg.norm(requested), -1, 1))
        degrees, pairs = np.degrees(np.arccos(cosine)), len(evidence["pairs"])
        reason = f"light {degrees:.0f} degrees off, from {pairs} object(s) with a shadow"
        return Verdict(None, score, reason)


def infer_direction(evidence: Mapping[str, Any]) -> np.ndarray | None:
    """Return the unit vector to the light: the median of the objects' lines from shadow tip to top.

    The result is None if no object has such a line.

    Example:
        >>> pair = {"top": [0, 1, 0], "tip": [1, 0, 0]}
        >>> infer_direction({"pairs": [pair]}).round(3).tolist()
        [-0.707, 0.707, 0.0]
    """
    pairs = evidence["pairs"]
    lines = np.array([np.subtract(pair["top"], pair["tip"]) for pair in pairs]).reshape(-1, 3)
    lines = lines[np.linalg.norm(lines, axis=1) > 0]
    if not len(lines):
        return None
    median = np.median(lines / np.linalg.norm(lines, axis=1, keepdims=True), axis=0)
    length = np.linalg.norm(median)
    return median / length if length > 0 else None


def parse_light_direction(picture: Picture) -> np.ndarray | None:
    """Return the unit vector of the light direction that a prompt names; None if it names none.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "A vase, light from upper-left front.")
        >>> parse_light_direction(picture).round(2).tolist()
        [-0.5, 0.71, 0.5]
    """
    text = _normalise(str(get_param(picture, "light") or picture.prompt))
    phrases = load_params("light")["phrases"]
    for phrase in sorted(phrases, key=len, reverse=True):
        if re.search(rf"\b{re.escape(_normalise(phrase))}\b", text):
            vector = np.array(phrases[phrase], dtype=float)
            return vector / np.linalg.norm(vector)
    return None


def _normalise(text: str) -> str:
    return " ".join(re.sub(r"[^a-z]+", " ", text.lower()).split())


def find_shadows(image: NDArray, masks: Mask, depth: NDArray) -> dict[str, Any]:
    """Pair objects with their cast shadows, in coordinates of the floor.

    Args:
        image: (height, width, 3) in 0 .. 1.
        masks: (objects, height, width).
        depth: (height, width), distance along the view, in any unit.

    Returns:
        dict: `objects`, the number of objects; `floor`, whether a floor was found; `shadows`, the
        number of shadows; `pairs`, one dict per object with its shadow: `top`, the point that casts
        the end of the shadow, and `tip`, this end, with x to the right, y up from the floor and z
        towards the viewer, in the unit of the depth; `pixels`, the shadow's size; `left_out`, the
        reasons why other shadows were not used.

    Example:
        >>> image, depth = np.ones((32, 32, 3)), np.ones((32, 32))  # a wall, and no floor
        >>> found = find_shadows(image, np.zeros((1, 32, 32), bool), depth)
        >>> found["objects"], found["floor"], found["pairs"]
        (1, False, [])
    """
    params = load_params("light")
    shadows: dict[str, Any] = {"objects": len(masks), "floor": False, "shadows": 0}
    shadows |= {"pairs": [], "left_out": []}
    occupied: Any = masks.any(0) if len(masks) else np.zeros(depth.shape, bool)
    height, width = depth.shape
    half_height = np.tan(np.radians(params["vertical_view_degrees"]) / 2)
    y, x = np.mgrid[:height, :width]
    x = (2 * (x + 0.5) - width) / height * half_height
    y = (1 - 2 * (y + 0.5) / height) * half_height
    points = np.stack([x * depth, y * depth, -depth], -1)  # right, up, towards the viewer
    plane = _fit_floor(points, depth, ~occupied)
    if plane is None:
        return shadows
    shadows["floor"] = True
    up, offset = plane
    forward = np.array([0.0, 0.0, 1.0]) - up[2] * up
    forward /= np.linalg.norm(forward)
    axes = np.stack([np.cross(up, forward), up, forward])
    ground = points @ axes.T - np.array([0, offset, 0])
    on_floor = ~occupied & (np.abs(ground[..., 1]) < params["floor_tolerance"] * depth)
    labels, shadows["shadows"] = find_dark_areas(image, on_floor)
    for index in range(1, shadows["shadows"] + 1):
        pair = _match_shadow(labels == index, masks, ground)
        shadows["left_out" if isinstance(pair, str) else "pairs"].append(pair)
    return shadows


def _fit_floor(points: NDArray, depth: NDArray, is_free: Mask) -> tuple[NDArray, float] | None:
    """Return the unit normal and offset of the plane through most of the free pixels, or None."""
    params, candidates, depths = load_params("light"), points[is_free], depth[is_free]
    if len(candidates) < 3:
        return None
    random = np.random.default_rng(0)  # the same image gives the same floor
    if len(candidates) > 5000:
        sample = random.choice(len(candidates), 5000, replace=False)
        candidates, depths = candidates[sample], depths[sample]
    inliers = np.zeros(len(candidates), bool)
    for triple in random.integers(0, len(candidates), (200, 3)):
        corner, *others = candidates[triple]
        normal = np.cross(*(other - corner for other in others))
        length = np.linalg.norm(normal)
        if length < 1e-12:  # the three points are collinear
            continue
        normal = normal / length * (np.sign(normal[1]) or 1)
        if normal[1] >= params["least_upright"]:
            distances = np.abs(candidates @ normal - normal @ corner)
            is_close = distances < params["floor_tolerance"] * depths
            inliers = is_close if is_close.sum() > inliers.sum() else inliers
    if not inliers.any():
        return None
    centre = candidates[inliers].mean(0)
    normal = np.linalg.svd(candidates[inliers] - centre, full_matrices=False)[2][2]
    normal = normal * np.sign(normal[1])
    return normal, float(centre @ normal)


def find_dark_areas(image: NDArray, on_floor: Mask) -> tuple[NDArray, int]:
    """Label the regions that are darker than most of the floor; return labels and their number.

    Example:
        >>> image = np.ones((32, 32, 3))
        >>> image[8:20, 8:20] = 0.4
        >>> labels, number = find_dark_areas(image, np.ones((32, 32), bool))
        >>> number, int(labels[14, 14]), int(labels[0, 0])
        (1, 1, 0)
    """
    params = load_params("light")
    if not on_floor.any():
        return np.zeros(on_floor.shape, int), 0
    light = image.mean(-1)
    is_dark = on_floor & (light < params["shadow_brightness"] * np.median(light[on_floor]))
    min_size = params["least_shadow_share"] * is_dark.size
    return label_components(ndimage.binary_opening(is_dark), min_size)


def _match_shadow(shadow: Mask, masks: Mask, ground: NDArray) -> dict[str, Any] | str:
    """Return a shadow with its object, or the reason why it is not usable."""
    params = load_params("light")
    reach = max(2, round(params["contact_share"] * shadow.shape[0]))
    surroundings = ndimage.binary_dilation(shadow, np.ones((3, 3)), iterations=reach)
    touching = [n for n, mask in enumerate(masks) if (surroundings & mask).any()]
    if len(touching) != 1:
        return f"a shadow {'is shared by several objects' if touching else 'touches no object'}"
    if shadow[[0, -1]].any() or shadow[:, [0, -1]].any():
        return "a shadow leaves the picture"
    # Find the tip of the shadow, and the point of the object that casts it.
    shadow_xyz, object_xyz = ground[shadow], ground[masks[touching[0]]]
    height = np.quantile(object_xyz[:, 1], _EXTREME)
    if height <= 0:
        return "an object with a shadow does not rise above the floor"
    horizontal = np.array([1.0, 0.0, 1.0])
    base = object_xyz.mean(0) * horizontal
    direction = (shadow_xyz * horizontal).mean(0) - base
    direction = direction / max(np.linalg.norm(direction), 1e-12)
    across = np.array([direction[2], 0.0, -direction[0]])
    top_points = object_xyz[object_xyz[:, 1] > 0.9 * height] - base
    top = base + np.quantile(top_points @ direction, _EXTREME) * direction
    top += np.median(top_points @ across) * across
    top[1] = height
    offsets = shadow_xyz * horizontal - base
    distances = offsets @ direction
    lateral = np.median((offsets @ across)[distances >= np.quantile(distances, 0.95)])
    tip = base + np.quantile(distances, _EXTREME) * direction + lateral * across
    ends = {"top": top.round(5).tolist(), "tip": tip.round(5).tolist()}
    return {"object": touching[0], **ends, "pixels": int(shadow.sum())}
