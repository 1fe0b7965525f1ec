"""Objects and the shadows that they cast: where the light must stand, from masks and depth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.vistar.choices import choices

Mask = NDArray[np.bool_]


def cast_shadows(
    image: NDArray[np.floating],
    masks: Mask,
    depth: NDArray[np.floating],
) -> dict[str, Any]:
    """Pair objects with their cast shadows, in coordinates of the floor that they stand on.

    Args:
        image: (height, width, 3) in 0 .. 1.
        masks: (objects, height, width).
        depth: (height, width), distance along the view, in any unit but proportional to it.

    Returns:
        dict: `objects`, how many; `floor`, whether one was found; `shadows`, how many shadows;
        `pairs`, an object and its shadow each, with `top`, the point that casts the shadow's end,
        and `tip`, that end: x to the right, y up from the floor, z towards the viewer, in the unit
        of the depth; `pixels`, the shadow's size; `left_out`, why others were not used.

    Example:
        >>> image, depth = np.ones((32, 32, 3)), np.ones((32, 32))  # a wall, and no floor
        >>> found = cast_shadows(image, np.zeros((1, 32, 32), bool), depth)
        >>> found["objects"], found["floor"], found["pairs"]
        (1, False, [])
    """
    chosen = choices("light")
    found: dict[str, Any] = {"objects": len(masks), "floor": False, "shadows": 0, "pairs": []}
    found["left_out"] = []
    anything = np.asarray(masks.any(0)) if len(masks) else np.zeros(depth.shape, bool)
    points = _points(depth, chosen["vertical_view_degrees"])
    plane = _floor(points, depth, ~anything)
    if plane is None:
        return found
    found["floor"] = True
    ground = _in_floor_axes(points, *plane)
    on_floor = ~anything & (np.abs(ground[..., 1]) < chosen["floor_tolerance"] * depth)
    labels, number = shadow_regions(image, on_floor)
    found["shadows"] = number
    for index in range(1, number + 1):
        _pair(found, labels == index, masks, ground)
    return found


def _points(depth: NDArray, view: float) -> NDArray:
    """Return (height, width, 3): x to the right, y up, z towards the viewer."""
    height, width = depth.shape
    reach = np.tan(np.radians(view) / 2)
    y, x = np.mgrid[:height, :width]
    x = (2 * (x + 0.5) - width) / height * reach
    y = (1 - 2 * (y + 0.5) / height) * reach
    return np.stack([x * depth, y * depth, -depth], -1)


def _floor(points: NDArray, depth: NDArray, free: Mask) -> tuple[NDArray, float] | None:
    """Return the unit normal and offset of the plane that most of the free pixels lie on."""
    chosen = choices("light")
    some = points[free]
    far = depth[free]
    if len(some) < 3:
        return None
    random = np.random.default_rng(0)  # the same image gives the same floor
    if len(some) > 5000:
        taken = random.choice(len(some), 5000, replace=False)
        some, far = some[taken], far[taken]
    best: tuple[int, Mask] | None = None
    for three in random.integers(0, len(some), (200, 3)):
        normal, offset = _plane_through(some[three])
        if normal is None or normal[1] < chosen["least_upright"]:
            continue
        near = np.abs(some @ normal - offset) < chosen["floor_tolerance"] * far
        if best is None or near.sum() > best[0]:
            best = int(near.sum()), near
    if best is None or best[0] < chosen["least_floor_share"] * len(some):
        return None
    on = some[best[1]]
    centre = on.mean(0)
    normal = np.linalg.svd(on - centre, full_matrices=False)[2][2]
    normal = normal * np.sign(normal[1])
    return normal, float(centre @ normal)


def _plane_through(three: NDArray) -> tuple[NDArray | None, float]:
    normal = np.cross(three[1] - three[0], three[2] - three[0])
    length = np.linalg.norm(normal)
    if length < 1e-12:
        return None, 0.0
    normal = normal / length * (np.sign(normal[1]) or 1)
    return normal, float(normal @ three[0])


def _in_floor_axes(points: NDArray, up: NDArray, offset: float) -> NDArray:
    """Return points with y as the height over the floor and z along it towards the viewer."""
    towards = np.array([0.0, 0.0, 1.0]) - up[2] * up
    towards /= np.linalg.norm(towards)
    axes = np.stack([np.cross(up, towards), up, towards])
    return points @ axes.T - np.array([0, offset, 0])


def shadow_regions(image: NDArray, on_floor: Mask) -> tuple[NDArray, int]:
    """Return regions of the floor that are darker than most of it and have its colour.

    Example:
        >>> image = np.ones((32, 32, 3))
        >>> image[8:20, 8:20] = 0.4
        >>> labels, number = shadow_regions(image, np.ones((32, 32), bool))
        >>> number, int(labels[14, 14]), int(labels[0, 0])
        (1, 1, 0)
    """
    from scipy import ndimage

    chosen = choices("light")
    if not on_floor.any():
        return np.zeros(on_floor.shape, int), 0
    light = image.mean(-1)
    usual = np.median(light[on_floor])
    lit = on_floor & (np.abs(light - usual) < 0.1 * usual)
    colour = image / np.maximum(image.sum(-1, keepdims=True), 1e-6)
    own = np.median(colour[lit], axis=0)
    alike = np.abs(colour - own).sum(-1) < chosen["shadow_colour_tolerance"]
    dark = on_floor & alike & (light < chosen["shadow_brightness"] * usual)
    dark = ndimage.binary_opening(dark, iterations=1)
    labels, number = ndimage.label(dark, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel(), minlength=number + 1)
    kept = np.flatnonzero(sizes >= chosen["least_shadow_share"] * dark.size)
    kept = kept[kept > 0]
    order = np.zeros(number + 1, int)
    order[kept] = np.arange(1, len(kept) + 1)
    return order[labels], len(kept)


def _pair(found: dict, shadow: Mask, masks: Mask, ground: NDArray) -> None:
    """Add a shadow with its object to what was found, or why it tells nothing."""
    from scipy import ndimage

    chosen = choices("light")
    reach = max(2, round(chosen["contact_share"] * shadow.shape[0]))
    near = ndimage.binary_dilation(shadow, np.ones((3, 3)), iterations=reach)
    touching = []
    for number, mask in enumerate(masks):
        own = ground[mask][:, 1]
        if not len(own):
            continue
        tall = np.quantile(own, 0.98)
        foot = mask & (ground[..., 1] < chosen["foot_share"] * tall)
        if (near & foot).any() and tall > 0:
            touching.append((number, foot, tall))
    if len(touching) != 1:
        why = "touches no object's foot" if not touching else "is shared by several objects"
        return found["left_out"].append(f"a shadow {why}")
    edge = np.zeros(shadow.shape, bool)
    edge[[0, -1]] = edge[:, [0, -1]] = True
    if (shadow & edge).any():
        return found["left_out"].append("a shadow leaves the picture")
    number, foot, tall = touching[0]
    ends = _ends(shadow, masks, number, foot, tall, ground)
    if ends is None:
        return found["left_out"].append("a shadow's end is hidden behind an object")
    top, tip = ends
    found["pairs"].append(
        {
            "object": number,
            "top": top.round(5).tolist(),
            "tip": tip.round(5).tolist(),
            "pixels": int(shadow.sum()),
        }
    )


def _ends(shadow, masks, number, foot, tall, ground):
    """Return the object's point that casts the shadow's end, and that end; None where hidden."""
    from scipy import ndimage

    flat = np.array([1.0, 0.0, 1.0])
    on = ground[shadow] * flat
    stand = ground[foot].mean(0) * flat
    away = on.mean(0) - stand
    for _ in range(3):  # the shadow's far end says better than its middle where it points
        away = away / max(np.linalg.norm(away), 1e-12)
        far = (on - stand) @ away
        end = far > np.quantile(far, 0.85)
        away = on[end].mean(0) - stand
    away = away / max(np.linalg.norm(away), 1e-12)
    far = (on - stand) @ away
    last = far > np.quantile(far, 0.95)
    at_end = np.zeros(shadow.shape, bool)
    at_end[shadow] = last
    others = ndimage.binary_dilation(masks.any(0), np.ones((3, 3)), iterations=2)
    if (at_end & others).sum() > 0.5 * at_end.sum():
        return None
    across = np.array([away[2], 0.0, -away[0]])
    own = ground[masks[number]]
    high = own[own[:, 1] > 0.9 * tall]
    along, side = (high - stand) @ away, (high - stand) @ across
    top = stand + np.quantile(along, 0.95) * away + np.median(side) * across
    top[1] = np.quantile(own[:, 1], 0.98)
    tip = stand + np.quantile(far, 0.99) * away
    tip = tip + np.median((on[last] - stand) @ across) * across
    return top, tip
