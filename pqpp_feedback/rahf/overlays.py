"""Heatmaps as pictures, and images tinted by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_TINT, _STRENGTH = (255, 40, 0), 0.65


def heatmap_image(heatmap: NDArray[np.floating], size: tuple[int, int]) -> Any:
    """Return a heatmap in 0 .. 1 as a grey image of a width and height, white where it is 1."""
    from PIL import Image

    grey = (255 * np.clip(heatmap, 0, 1)).round().astype(np.uint8)
    return Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR)


def overlay(
    image: Any,
    heatmap: NDArray[np.floating],
    colour: tuple[int, int, int] = _TINT,
    strength: float = _STRENGTH,
) -> Any:
    """Return an image of PIL tinted where a heatmap is high.

    Args:
        image: The image.
        heatmap: `(height, width)` in 0 .. 1, of any size.
        colour: Of the tint.
        strength: How much of the tint there is where the heatmap is 1.
    """
    from PIL import Image

    image = image.convert("RGB")
    weight = np.asarray(heatmap_image(heatmap, image.size), dtype=np.float64)[..., None] / 255
    weight *= strength
    mixed = (1 - weight) * np.asarray(image) + weight * np.array(colour)
    return Image.fromarray(mixed.round().astype(np.uint8))
