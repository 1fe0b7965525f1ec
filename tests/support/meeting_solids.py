"""Two solids that touch in a point or stick in each other, the place where they meet in view."""

import numpy as np
from scipy.spatial.transform import Rotation

from support.solids import Solid, cast

_PITCH = 15.0


def make_solids(seed, depth, size=256):
    """Return a picture of two solids in the air.

    Convex bodies whose outermost points along a line coincide touch there and nowhere else; moved
    together by `depth` times the smaller one's least width they share space. The line lies within
    30 degrees of the picture's plane: what is hidden behind a solid is no flaw of a picture.
    """
    random = np.random.default_rng([seed, 5])
    first, second = _make_body(random), _make_body(random)
    tilt = np.radians(_PITCH)
    view, axis = np.array([0, -np.sin(tilt), -np.cos(tilt)]), None
    while axis is None or abs(axis @ view) > 0.5:
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
    offset = _find_outermost(*first, axis) - _find_outermost(*second, -axis)
    offset -= axis * depth * 2 * min(first[1].min(), second[1].min())
    centre = np.array([0, 1.2, 0])
    solids = [
        Solid(body[0], tuple(position), tuple(body[1]), colour, body[2])
        for body, position, colour in (
            (first, centre, (0.8, 0.3, 0.3)),
            (second, centre + offset, (0.3, 0.4, 0.8)),
        )
    ]
    return cast(solids, (1, 1, 1), size, pitch=_PITCH, distance=4.2, look=centre + offset / 2)


def _make_body(random):
    kind, half = str(random.choice(["ball", "box"])), random.uniform(0.3, 0.7, 3)
    return kind, half, Rotation.random(random_state=int(random.integers(1 << 30))).as_matrix()


def _find_outermost(kind, half, rotation, axis):
    """The outermost point of a body around 0 in a direction."""
    direction = rotation @ axis
    if kind == "ball":
        return rotation.T @ (half * half * direction / np.linalg.norm(half * direction))
    return rotation.T @ (half * np.where(direction >= 0, 1, -1))
