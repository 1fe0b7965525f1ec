"""Solids on a floor under one light, cast by rays: picture, masks, depth and shadow are known.

World: x to the right, y up, z towards the viewer; the floor is y = 0.
"""

from dataclasses import dataclass, field

import numpy as np

NO_HIT = 1e9


@dataclass(frozen=True)
class Solid:
    """A ball, a box or an upright cylinder.

    `turn` is a rotation matrix from the world to the solid's own axes; `half` are the half extents
    along them (a ball's radii, a cylinder's radius and half height).
    """

    kind: str
    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    colour: tuple[float, float, float] = (0.8, 0.3, 0.3)
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))

    def hit(self, origin, ray):
        """Return how far along each ray its surface is, FAR without a hit, and the normals."""
        o = (np.asarray(origin) - self.centre) @ self.turn.T
        d = ray @ self.turn.T
        if self.kind == "ball":
            distance, normal = _hit_ball(o, d, np.asarray(self.half))
        elif self.kind == "box":
            distance, normal = _hit_box(o, d, np.asarray(self.half))
        else:
            distance, normal = _hit_cylinder(o, d, self.half[0], self.half[1])
        return distance, normal @ self.turn


def iterate_places(random, number, width, depths, apart):
    """Yield up to `number` random places on the floor, each far enough from the earlier ones."""
    places = []
    for _ in range(number):
        for _ in range(50):
            x, z = random.uniform(-width, width), random.uniform(*depths)
            if all(np.hypot(x - a, z - b) > apart for a, b in places):
                places.append((x, z))
                yield x, z
                break


def make_turn(angle):
    """Return the rotation by an angle around the upright axis."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])


def _hit_ball(o, d, radii):
    o, d = o / radii, d / radii
    a, b, c = (d * d).sum(-1), (o * d).sum(-1), (o * o).sum(-1) - 1
    discriminant = b * b - a * c
    distance = np.where(discriminant > 0, (-b - np.sqrt(np.maximum(discriminant, 0))) / a, NO_HIT)
    distance = np.where(distance > 1e-6, distance, NO_HIT)
    normal = (o + np.where(distance < NO_HIT, distance, 0)[..., None] * d) / radii
    return distance, normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)


def _hit_box(o, d, half):
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (-half - o) / d, (half - o) / d
    near, out = np.minimum(first, second), np.maximum(first, second)
    axis = np.argmax(near, -1)
    enter, leave = near.max(-1), out.min(-1)
    distance = np.where((enter < leave) & (enter > 1e-6), enter, NO_HIT)
    normal = np.zeros(d.shape)
    np.put_along_axis(
        normal, axis[..., None], -np.sign(np.take_along_axis(d, axis[..., None], -1)), -1
    )
    return distance, normal


def _hit_cylinder(o, d, radius, half):
    flat = np.array([1.0, 0.0, 1.0])
    a, b = (d * d * flat).sum(-1), (o * d * flat).sum(-1)
    c = (o * o * flat).sum(-1) - radius**2
    discriminant = b * b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        side = np.where(discriminant > 0, (-b - np.sqrt(np.maximum(discriminant, 0))) / a, NO_HIT)
        side = np.where(np.abs((o + side[..., None] * d)[..., 1]) <= half, side, NO_HIT)
        lid = (np.sign(-d[..., 1]) * half - np.broadcast_to(o, d.shape)[..., 1]) / d[..., 1]
        point = o + lid[..., None] * d
    lid = np.where((point[..., 0] ** 2 + point[..., 2] ** 2 <= radius**2), lid, NO_HIT)
    side, lid = (np.where(x > 1e-6, x, NO_HIT) for x in (side, lid))
    distance = np.minimum(side, lid)
    side_normal = (o + np.where(distance < NO_HIT, distance, 0)[..., None] * d) * flat / radius
    up = np.zeros(d.shape)
    up[..., 1] = np.sign(-d[..., 1])
    return distance, np.where((lid < side)[..., None], up, side_normal)


@dataclass(frozen=True)
class Picture:
    """What was cast: `image` (h, w, 3) in 0 .. 1, `depth` (h, w) along the view, `masks` of solids.

    `shadow` is True on floor that no light reaches, `floor` on all floor; `fov` is the picture's
    angle from top to bottom in degrees.
    """

    image: np.ndarray
    depth: np.ndarray
    masks: np.ndarray
    floor: np.ndarray
    shadow: np.ndarray
    fov: float


def cast(solids, light=None, size=192, pitch=25.0, fov=50.0, distance=6.0, look=(0, 0.4, 0)):
    """Cast a picture of solids.

    Args:
        light: Direction to the light; None: light from everywhere, without a shadow.
        pitch: How far the view is turned down, in degrees.
        distance: Of the eye from the point `look`.
    """
    tilt = np.radians(pitch)
    forward = np.array([0, -np.sin(tilt), -np.cos(tilt)])
    up = np.array([0, np.cos(tilt), -np.sin(tilt)])
    eye = np.asarray(look, float) - distance * forward
    reach = np.tan(np.radians(fov) / 2)
    y, x = np.mgrid[:size, :size]
    x, y = ((v + 0.5) / size * 2 - 1 for v in (x, y))
    ray = forward + reach * (x[..., None] * np.array([1.0, 0, 0]) - y[..., None] * up)
    with np.errstate(divide="ignore"):
        floor = np.where(ray[..., 1] < 0, -eye[1] / ray[..., 1], NO_HIT)
    floor = np.where(floor < 60, floor, NO_HIT)
    hits = [solid.hit(eye, ray) for solid in solids]
    distances = np.stack([floor, *(hit[0] for hit in hits)])
    first = np.where(distances.min(0) < NO_HIT, distances.argmin(0), -1)
    nearest = np.where(first >= 0, distances.min(0), 60.0)
    point = eye + nearest[..., None] * ray
    normal = np.zeros(ray.shape)
    normal[first == 0] = (0, 1, 0)
    for number, (_, normals) in enumerate(hits, 1):
        normal[first == number] = normals[first == number]
    is_lit = np.ones(first.shape, bool)
    if light is not None:
        light = np.asarray(light, float) / np.linalg.norm(light)
        start = point + 1e-4 * normal
        for solid in solids:
            is_lit &= solid.hit(start, np.broadcast_to(light, ray.shape))[0] >= NO_HIT
        facing = np.clip(normal @ light, 0, 1) * is_lit
    else:
        facing = np.full(first.shape, 0.7)
    colours = np.array([(0.72, 0.7, 0.66), *(solid.colour for solid in solids), (0.6, 0.7, 0.85)])
    shade = np.where(first >= 0, 0.35 + 0.65 * facing, 1.0)
    return Picture(
        image=np.clip(colours[first] * shade[..., None], 0, 1),
        depth=nearest,
        masks=np.stack([first == n for n in range(1, len(solids) + 1)])
        if solids
        else np.zeros((0, size, size), bool),
        floor=first == 0,
        shadow=(first == 0) & ~is_lit,
        fov=fov,
    )
