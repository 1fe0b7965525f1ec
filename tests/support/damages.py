"""A plain scene and damages of growing strength, one for each cue of geometry."""

import numpy as np
from scipy import ndimage

from support.solids import Solid, cast


def make_plain_scene(size=128):
    """Return pixels (h, w, 3) in 0 .. 1 and depth of three solids with two streaks of light."""
    scene = cast(
        [
            Solid("ball", (-0.9, 0.55, 0), (0.55, 0.55, 0.55), (0.7, 0.2, 0.2)),
            Solid("box", (0.9, 0.4, 0.2), (0.4, 0.4, 0.4), (0.2, 0.3, 0.7)),
            Solid("cylinder", (0.1, 0.5, -1.2), (0.3, 0.5, 0.3), (0.2, 0.6, 0.3)),
        ],
        light=(-1, 2, 1.5),
        size=size,
    )
    pixels = scene.image.copy()
    for height in (0.3, 0.42):
        row = round(height * size)
        pixels[row : row + 3, size // 8 : -size // 8] = 1
    return pixels, scene.depth


def damage(cue, step, pixels, depth):
    """Return a copy that is damaged in a cue's own way, by 1 to 5 fifths; 0 for none."""
    random, size = np.random.default_rng(3), pixels.shape[0]
    pixels, depth = pixels.copy(), depth.copy()
    noise = random.normal(size=depth.shape)
    if cue == "normals":
        depth *= 1 + 0.001 * step * noise
    elif cue == "curvature":
        wave = np.sin(np.arange(size) * 0.9)
        depth *= 1 + 0.003 * step * wave[:, None] * wave
    elif cue == "highlights":
        for number in range(step):
            start = size // 8 + (number + 1) * size // 8
            pixels[:, start : start + 2] *= 0.6
    elif cue == "contours":
        blurred = ndimage.gaussian_filter(pixels, (6, 6, 0))
        for stripe in range(step):  # a stripe that is smeared, so that contours end there
            start = round(size * (0.2 + 0.13 * stripe))
            pixels[:, start : start + 6] = blurred[:, start : start + 6]
    elif cue == "texture":
        grain = random.random(pixels.shape[:2]) * 0.5
        rows = np.arange(size) < size * step / 5
        pixels[rows] = np.clip(pixels[rows] * 0.5 + grain[rows][..., None], 0, 1)
    return pixels, depth
