"""The paper's augmentations, on an image and its heatmaps together (RichHF, section 9).

By 50 % a crop of 80-100 % of each side, of the maps too; by 10 % random brightness (up to .05),
contrast (.8-1), hue (up to .025 of a turn), saturation (.8-1) and JPEG noise (quality 70-100); by
10 % grey.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_files.foreign.images import open_image

CROP_CHANCE, COLOUR_CHANCE, GREY_CHANCE = 0.5, 0.1, 0.1
SMALLEST_CROP = 0.8
BRIGHTNESS, HUE = 0.05, 0.025
CONTRAST = SATURATION = (0.8, 1.0)
JPEG_QUALITY = (70, 100)


def augment(random: np.random.Generator, image: Any, maps: Sequence[Any]) -> tuple[Any, tuple]:
    """Return an image and its heatmaps as they look in this epoch.

    Args:
        random: Decides all; the same state gives the same result.
        image: An RGB image of PIL.
        maps: Grey images of PIL, of any size.

    Returns:
        The image and the maps; cropped ones are smaller.
    """
    # All chances are drawn in any case, so that one of them never shifts the others.
    crops, colours, greys = random.random(3) < (CROP_CHANCE, COLOUR_CHANCE, GREY_CHANCE)
    if crops:
        box = crop_box(random)
        image, *maps = (cropped(layer, box) for layer in (image, *maps))
    if colours:
        image = recoloured(random, image)
    if greys:
        image = image.convert("L").convert("RGB")
    return image, tuple(maps)


def crop_box(random: np.random.Generator) -> tuple[float, float, float, float]:
    """Draw a box of 80-100 % of each side: left, top, right, bottom in parts of the sides."""
    wide, high = random.uniform(SMALLEST_CROP, 1, 2)
    left, top = random.uniform(0, 1 - wide), random.uniform(0, 1 - high)
    return float(left), float(top), float(left + wide), float(top + high)


def cropped(image: Any, box: tuple[float, float, float, float]) -> Any:
    """Return the part of an image in a box given in parts of its sides."""
    wide, high = image.size
    left, top, right, bottom = box
    # At least a pixel is left of the smallest image.
    edges = (round(left * wide), round(top * high), round(right * wide), round(bottom * high))
    return image.crop((*edges[:2], max(edges[2], edges[0] + 1), max(edges[3], edges[1] + 1)))


def recoloured(random: np.random.Generator, image: Any) -> Any:
    """Return an image with other brightness, contrast, hue, saturation and JPEG noise."""
    from PIL import Image

    brightness, turn = random.uniform(-BRIGHTNESS, BRIGHTNESS), random.uniform(-HUE, HUE)
    contrast, saturation = random.uniform(*CONTRAST), random.uniform(*SATURATION)
    quality = int(random.integers(JPEG_QUALITY[0], JPEG_QUALITY[1] + 1))
    pixels = np.asarray(image, dtype=np.float64) / 255 + brightness
    mean = pixels.mean(axis=(0, 1))
    pixels = ((pixels - mean) * contrast + mean).clip(0, 1)
    coloured = Image.fromarray((255 * pixels).round().astype(np.uint8))
    hsv = np.asarray(coloured.convert("HSV")).astype(np.int64)
    hsv[..., 0] = (hsv[..., 0] + round(turn * 256)) % 256
    hsv[..., 1] = (hsv[..., 1] * saturation).round()
    picture = Image.fromarray(hsv.astype(np.uint8), "HSV").convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, "jpeg", quality=quality)
    return open_image(buffer.getvalue())
