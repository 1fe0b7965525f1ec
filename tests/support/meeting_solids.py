"""Two solids that touch in a point or stick in each other, the place where they meet in view."""

import numpy as np
from scipy.spatial.transform import Rotation

from support.solids import Solid, cast

_PITCH = 15.0


def meeting_solids(seed, depth, size=256):
    """Return a picture of two solids in the air.

    Convex bodies whose outermost points along a line coincide touch there and nowhere else; moved
    together by `depth` times the smaller one's least width they share space. The line lies within
    30 degrees of the picture's plane: what is hidden behind a solid is no flaw of a picture.
    """
    random = np.random.default_rng([seed, 5])
    one, other = _body(random), _body(random)
    tilt = np.radians(_PITCH)
    view, along = np.array([0, -np.sin(tilt), -np.cos(tilt)]), None
    while along is None or abs(along @ view) > 0.5:
        along = random.normal(size=3)
        along /= np.linalg.norm(along)
    apart = _outermost(*one, along) - _outermost(*other, -along)
    apart -= along * depth * 2 * min(one[1].min(), other[1].min())
    centre = np.array([0, 1.2, 0])
    solids = [
        Solid(body[0], tuple(place), tuple(body[1]), colour, body[2])
        for body, place, colour in (
            (one, centre, (0.8, 0.3, 0.3)),
            (other, centre + apart, (0.3, 0.4, 0.8)),
        )
    ]
    return cast(solids, (1, 1, 1), size, pitch=_PITCH, distance=4.2, look=centre + apart / 2)


def _body(random):
    kind, half = str(random.choice(["ball", "box"])), random.uniform(0.3, 0.7, 3)
    return kind, half, Rotation.random(random_state=int(random.integers(1 << 30))).as_matrix()


def _outermost(kind, half, turn, along):
    """The outermost point of a body around 0 in a direction."""
    own = turn @ along
    if kind == "ball":
        return turn.T @ (half * half * own / np.linalg.norm(half * own))
    return turn.T @ (half * np.where(own >= 0, 1, -1))
