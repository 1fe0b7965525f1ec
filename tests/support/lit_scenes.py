"""Scenes of solids that stand on a floor, under a light of known direction."""

import numpy as np

from support.solids import Solid, cast, iterate_places, make_turn


def make_lit_scene(seed, shadow=True, light=None, size=192):
    """Return a picture of one to four solids and the direction to its light.

    `light` is a direction; without one it stands 20 to 65 degrees high anywhere.
    """
    random = np.random.default_rng([seed, 11])
    places = iterate_places(random, int(random.integers(1, 5)), 1.7, (-1.5, 1.2), 1.1)
    solids = [_make_solid(random, x, z) for x, z in places]
    high, around = np.radians(random.uniform(20, 65)), random.uniform(0, 2 * np.pi)
    sun = np.array([np.cos(high) * np.sin(around), np.sin(high), np.cos(high) * np.cos(around)])
    light = sun if light is None else np.asarray(light, float)
    view = {"pitch": random.uniform(20, 45), "fov": random.uniform(40, 60)}
    view["distance"] = 4.2 / np.tan(np.radians(view["fov"]) / 2) * 0.7
    return cast(solids, light if shadow else None, size, **view), light


def _make_solid(random, x, z):
    kind = str(random.choice(["ball", "box", "cylinder"]))
    width, height = random.uniform(0.15, 0.32), random.uniform(0.25, 0.6)
    rotation = make_turn(random.uniform(0, np.pi))
    half = (width, width if kind == "ball" else height, width)
    colour = tuple(random.uniform(0.15, 0.95, 3))
    return Solid(kind, (x, half[1], z), half, colour, rotation)
