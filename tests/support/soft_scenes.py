"""Scenes unlike `lit_scenes`: soft shadows, a patterned floor, a wall, uneven light, other solids.

Nothing of the score of light was chosen on these.
"""

import numpy as np

from support.solids import NO_HIT, Solid, cast, iterate_places, make_turn

_RAYS = 24
"""Directions into which a soft light is split."""


def make_soft_scene(seed, size=192):
    """Return a picture of two to five solids, and the direction to the middle of its light.

    The light is a disk of 2 to 8 degrees across its middle, 15 to 70 degrees high; the floor has
    planks, tiles or spots; the light falls off across it, the picture has a dark rim, noise and a
    colour of the sky in its shadows; solids are stacked pairs, tall poles and flat discs too.
    """
    random = np.random.default_rng([seed, 29])
    solids, groups = [], []
    for x, z in iterate_places(random, int(random.integers(2, 6)), 2.2, (-2.0, 1.4), 1.0):
        pieces = _make_object(random, x, z)
        groups.append(range(len(solids), len(solids) + len(pieces)))
        solids += pieces
    high, around = np.radians(random.uniform(15, 70)), random.uniform(0, 2 * np.pi)
    light = np.array([np.cos(high) * np.sin(around), np.sin(high), np.cos(high) * np.cos(around)])
    view = {"pitch": random.uniform(15, 55), "fov": random.uniform(30, 70)}
    view["distance"] = 5.0 / np.tan(np.radians(view["fov"]) / 2) * 0.7
    picture = cast(solids, None, size, **view)  # colours under an even light: 0.35 + 0.65 * 0.7
    point, normal = _get_surface(picture, solids, view, size)
    lit = np.mean([_get_facing(point, normal, solids, ray) for ray in _make_disk(random, light)], 0)
    sky = np.array([0.85, 0.95, 1.15]) * random.uniform(0.25, 0.45)
    sun = np.array([1.05, 1.0, 0.92]) * 0.75 * _get_falloff(random, point)
    colours = picture.image / (0.35 + 0.65 * 0.7)
    colours[picture.floor] *= _make_pattern(random, point[picture.floor])[:, None]
    image = np.where(
        (picture.depth < 60)[..., None], colours * (sky + sun * lit[..., None]), picture.image
    )
    image *= _get_vignette(size, random.uniform(0, 0.25))[..., None]
    image = np.clip(image + random.normal(0, 0.015, image.shape), 0, 1)
    masks = np.stack([picture.masks[list(group)].any(0) for group in groups])
    return image, masks[masks.any((1, 2))], picture.depth, light


def _make_object(random, x, z):
    """Return the solids of a thing: alone, one upon another, a pole or a disc."""
    kind = str(random.choice(["box", "stack", "pole", "disc", "egg"]))
    width, height = random.uniform(0.14, 0.3), random.uniform(0.2, 0.5)
    colours = random.uniform(0.1, 0.9, (2, 3))
    rotation = make_turn(random.uniform(0, np.pi))
    if kind == "pole":
        half = (0.07, random.uniform(0.4, 0.9), 0.07)
        return [Solid("cylinder", (x, half[1], z), half, tuple(colours[0]))]
    if kind == "disc":
        half = (random.uniform(0.25, 0.4), 0.1, 0.3)
        return [Solid("cylinder", (x, half[1], z), half, tuple(colours[0]))]
    if kind == "egg":
        half = (width, 1.5 * width, width)
        return [Solid("ball", (x, half[1], z), half, tuple(colours[0]))]
    half = (width, height, 0.7 * width)
    base = Solid("box", (x, height, z), half, tuple(colours[0]), rotation)
    if kind == "box":
        return [base]
    ball = Solid("ball", (x, 2 * height + 0.7 * width, z), (0.7 * width,) * 3, tuple(colours[1]))
    return [base, ball]


def _get_surface(picture, solids, view, size):
    """Return each pixel's point in the world and the normal of what is seen there."""
    tilt, reach = np.radians(view["pitch"]), np.tan(np.radians(view["fov"]) / 2)
    forward = np.array([0, -np.sin(tilt), -np.cos(tilt)])
    up = np.array([0, np.cos(tilt), -np.sin(tilt)])
    eye = np.array([0, 0.4, 0]) - view["distance"] * forward
    y, x = (((v + 0.5) / size * 2 - 1)[..., None] for v in np.mgrid[:size, :size])
    ray = forward + reach * (x * np.array([1.0, 0, 0]) - y * up)
    normal = np.broadcast_to([0.0, 1.0, 0.0], ray.shape).copy()
    for mask, solid in zip(picture.masks, solids, strict=True):
        normal[mask] = solid.hit(eye, ray)[1][mask]
    return eye + picture.depth[..., None] * ray, normal


def _get_facing(point, normal, solids, light):
    start = point + 1e-4 * normal
    is_lit = np.ones(point.shape[:2], bool)
    for solid in solids:
        is_lit &= solid.hit(start, np.broadcast_to(light, point.shape))[0] >= NO_HIT
    return np.clip(normal @ light, 0, 1) * is_lit


def _make_disk(random, light):
    """Return unit vectors to points of a disk around the light."""
    first = np.cross(light, [0.3, 0.1, 0.9])
    first /= np.linalg.norm(first)
    second = np.cross(light, first)
    radius = np.tan(np.radians(random.uniform(1, 4))) * np.sqrt((np.arange(_RAYS) + 0.5) / _RAYS)
    angle = np.arange(_RAYS) * 2.39996  # the golden angle spreads them evenly
    points = light + radius[:, None] * (
        np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    )
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _make_pattern(random, points):
    """Return how bright a floor of planks, tiles or spots is at points, about 1."""
    depth = random.uniform(0.05, 0.2)
    kind, width = random.integers(3), random.uniform(0.2, 0.6)
    x, z = points[:, 0] / width, points[:, 2] / width
    if kind == 0:
        tone = random.uniform(-1, 1, 997)[np.floor(x).astype(int) % 997]
    elif kind == 1:
        tone = 2.0 * ((np.floor(x) + np.floor(z)) % 2) - 1
    else:
        tone = np.sin(4 * x + 2 * np.sin(z)) * np.sin(3 * z + x)
    return 1 + depth * tone


def _get_falloff(random, point):
    """Return how strong the light is at points: as of a lamp that is nearer to one side."""
    direction = random.normal(size=3) * [1, 0, 1]
    direction /= np.linalg.norm(direction)
    return np.clip(1 + random.uniform(0, 0.08) * (point @ direction), 0.3, 1.7)[..., None]


def _get_vignette(size, depth):
    y, x = (((v + 0.5) / size * 2 - 1) for v in np.mgrid[:size, :size])
    return 1 - depth * (x**2 + y**2) / 2
