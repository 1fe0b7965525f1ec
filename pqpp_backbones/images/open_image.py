"""An image from whatever a user has."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from pqpp_backbones.errors import ModelError


def open_image(value: Any) -> Any:
    """Return an RGB image from an image, an array, a path, or a mapping with `path` or `bytes`.

    Grey values of 16 bit are scaled to 8.

    Raises:
        ModelError: It is none of these, or cannot be read; a path is named.

    Example:
        >>> grey = np.full((1, 1), 257 * 100, dtype=np.uint16)
        >>> open_image(grey).getpixel((0, 0))  # doctest: +SKIP
        (100, 100, 100)
    """
    from PIL import Image

    if isinstance(value, Mapping):
        content = value.get("bytes")
        value = io.BytesIO(content) if content is not None else value.get("path")
    try:
        if isinstance(value, np.ndarray):
            return _in_8_bit(Image.fromarray(value)).convert("RGB")
        opened = value if isinstance(value, Image.Image) else Image.open(value)
        return _in_8_bit(opened).convert("RGB")
    except (*_UNREADABLE, Image.DecompressionBombError) as error:
        which = f"the image {value}" if isinstance(value, (str, os.PathLike)) else "an image"
        raise ModelError(
            f"{which} could not be read ({type(error).__name__}); give images, paths or arrays "
            "of 8 bit, or grey ones of 16"
        ) from None


# A damaged PNG is a SyntaxError for pillow.
_UNREADABLE = (OSError, AttributeError, TypeError, ValueError, SyntaxError)


def _in_8_bit(image: Any) -> Any:
    """Return a grey image of 16 bit scaled to 8; pillow itself would cut all above 255."""
    from PIL import Image

    # Older versions of pillow open such a PNG in the mode of 32 bit.
    is_png = image.mode == "I" and image.format == "PNG"
    if not (is_png or image.mode.startswith("I;16")):
        return image
    grey = (np.asarray(image).astype(np.int64) + 128) // 257
    return Image.fromarray(grey.astype(np.uint8))
