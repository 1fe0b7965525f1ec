"""Heatmaps as pictures: grey images, overlays on the judged image, masks for inpainting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import PredictorError


def heatmap_image(heatmap: NDArray[np.floating], size: tuple[int, int]) -> Any:
    """Return a heatmap as a grey image, white where it is 1.

    Args:
        heatmap: `(height, width)` in 0 .. 1.
        size: Width and height of the picture.
    """
    from PIL import Image

    grey = (255 * np.clip(heatmap, 0, 1)).round().astype(np.uint8)
    return Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR)


def overlay(
    image: Any,
    heatmap: NDArray[np.floating],
    colour: tuple[int, int, int] = (255, 40, 0),
    strength: float = 0.65,
) -> Any:
    """Return an image tinted where a heatmap is high.

    Args:
        image: An RGB image of PIL.
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


def heatmap_to_mask(
    heatmap: NDArray[np.floating],
    size: tuple[int, int],
    threshold: float = 0.3,
    dilation: float = 0.03,
) -> Any:
    """Return the mask of what is to be painted anew: where a heatmap is high, and a rim around it.

    Args:
        heatmap: `(height, width)` in 0 .. 1.
        size: Width and height of the mask.
        threshold: From which value on a pixel is masked.
        dilation: Width of the rim in parts of the longer side.

    Returns:
        A grey image of PIL: 255 where masked, 0 elsewhere.

    Raises:
        PredictorError: The threshold or the rim is out of its range.
    """
    from PIL import Image, ImageFilter

    if not 0 < threshold <= 1:
        raise PredictorError(f"`threshold` is {threshold}; it must be above 0 and at most 1")
    if not 0 <= dilation < 1:
        raise PredictorError(f"`dilation` is {dilation}; it must be from 0 up to 1")
    values = Image.fromarray(np.clip(heatmap, 0, 1).astype(np.float32))
    values = np.asarray(values.resize(size, Image.Resampling.BILINEAR), dtype=np.float64)
    # Resizing rounds in single precision: what is at the threshold stays at it.
    marked = values >= threshold * (1 - 1e-6)
    mask = Image.fromarray(np.where(marked, 255, 0).astype(np.uint8))
    rim = round(dilation * max(size))
    # A square of growing side, a few pixels at a time: large filters of PIL are slow.
    while rim > 0:
        step = min(rim, 4)
        mask = mask.filter(ImageFilter.MaxFilter(2 * step + 1))
        rim -= step
    return mask
