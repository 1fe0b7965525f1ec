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
_OUTERMOST = 0.98  # values further out are a mask's rim or depth errors


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
        seen, masks = self.vision.find_objects(image, picture)
        depth = self.vision.estimate_depth(image, picture)
        shadows = find_shadows(np.asarray(shrink_image(image)) / 255.0, masks, depth)
        return {**shadows, "seen": seen}

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return 1 - (angle between the inferred and the requested direction) / 90 degrees."""
        light, wanted = infer_direction(evidence), parse_light_direction(picture)
        if light is None:
            if not evidence["objects"]:
                why = "no object was found"
            elif not evidence["floor"]:
                why = "no floor was found that a shadow could lie on"
            else:
                why = "; ".join(sorted(set(evidence["left_out"]))) or "no cast shadow was found"
            return Verdict(None, None, why)
        assert wanted is not None
        score = float(light_direction([light], [wanted])[0])
        cosine = float(np.clip(light @ wanted / np.linalg.norm(wanted), -1, 1))
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
    chosen = load_params("light")
    shadows: dict[str, Any] = {"objects": len(masks), "floor": False, "shadows": 0}
    shadows |= {"pairs": [], "left_out": []}
    anything: Any = masks.any(0) if len(masks) else np.zeros(depth.shape, bool)
    height, width = depth.shape
    reach = np.tan(np.radians(chosen["vertical_view_degrees"]) / 2)
    y, x = np.mgrid[:height, :width]
    x = (2 * (x + 0.5) - width) / height * reach
    y = (1 - 2 * (y + 0.5) / height) * reach
    points = np.stack([x * depth, y * depth, -depth], -1)  # right, up, towards the viewer
    plane = _fit_floor(points, depth, ~anything)
    if plane is None:
        return shadows
    shadows["floor"] = True
    up, offset = plane
    towards = np.array([0.0, 0.0, 1.0]) - up[2] * up
    towards /= np.linalg.norm(towards)
    axes = np.stack([np.cross(up, towards), up, towards])
    ground = points @ axes.T - np.array([0, offset, 0])
    on_floor = ~anything & (np.abs(ground[..., 1]) < chosen["floor_tolerance"] * depth)
    labels, shadows["shadows"] = find_dark_areas(image, on_floor)
    for index in range(1, shadows["shadows"] + 1):
        pair = _match_shadow(labels == index, masks, ground)
        shadows["left_out" if isinstance(pair, str) else "pairs"].append(pair)
    return shadows


def _fit_floor(points: NDArray, depth: NDArray, free: Mask) -> tuple[NDArray, float] | None:
    """Return the unit normal and offset of the plane through most of the free pixels, or None."""
    chosen, some, far = load_params("light"), points[free], depth[free]
    if len(some) < 3:
        return None
    random = np.random.default_rng(0)  # the same image gives the same floor
    if len(some) > 5000:
        taken = random.choice(len(some), 5000, replace=False)
        some, far = some[taken], far[taken]
    best = np.zeros(len(some), bool)
    for three in random.integers(0, len(some), (200, 3)):
        corner, *others = some[three]
        normal = np.cross(*(other - corner for other in others))
        length = np.linalg.norm(normal)
        if length < 1e-12:  # the three are on a line
            continue
        normal = normal / length * (np.sign(normal[1]) or 1)
        if normal[1] >= chosen["least_upright"]:
            near = np.abs(some @ normal - normal @ corner) < chosen["floor_tolerance"] * far
            best = near if near.sum() > best.sum() else best
    if not best.any():
        return None
    centre = some[best].mean(0)
    normal = np.linalg.svd(some[best] - centre, full_matrices=False)[2][2]
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
    chosen = load_params("light")
    if not on_floor.any():
        return np.zeros(on_floor.shape, int), 0
    light = image.mean(-1)
    dark = on_floor & (light < chosen["shadow_brightness"] * np.median(light[on_floor]))
    return label_components(ndimage.binary_opening(dark), chosen["least_shadow_share"] * dark.size)


def _match_shadow(shadow: Mask, masks: Mask, ground: NDArray) -> dict[str, Any] | str:
    """Return a shadow with its object, or the reason why it is not usable."""
    chosen = load_params("light")
    reach = max(2, round(chosen["contact_share"] * shadow.shape[0]))
    near = ndimage.binary_dilation(shadow, np.ones((3, 3)), iterations=reach)
    touching = [n for n, mask in enumerate(masks) if (near & mask).any()]
    if len(touching) != 1:
        return f"a shadow {'is shared by several objects' if touching else 'touches no object'}"
    if shadow[[0, -1]].any() or shadow[:, [0, -1]].any():
        return "a shadow leaves the picture"
    # The object's point that casts the shadow's end, and that end.
    cast, solid, flat = ground[shadow], ground[masks[touching[0]]], np.array([1.0, 0.0, 1.0])
    stand = solid.mean(0) * flat
    away = (cast * flat).mean(0) - stand
    away = away / max(np.linalg.norm(away), 1e-12)
    across = np.array([away[2], 0.0, -away[0]])
    tall = np.quantile(solid[:, 1], _OUTERMOST)
    high = solid[solid[:, 1] > 0.9 * tall] - stand
    top = stand + np.quantile(high @ away, _OUTERMOST) * away + np.median(high @ across) * across
    top[1] = tall
    on = cast * flat - stand
    far = on @ away
    middle = np.median((on @ across)[far >= np.quantile(far, 0.95)])
    tip = stand + np.quantile(far, _OUTERMOST) * away + middle * across
    ends = {"top": top.round(5).tolist(), "tip": tip.round(5).tolist()}
    return {"object": touching[0], **ends, "pixels": int(shadow.sum())}
