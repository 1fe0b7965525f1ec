"""Read images, upright and in a fixed mode and size."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pqpp_files.errors import FileError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "PPM", "WEBP", "TIFF", "AVIF")
"""Accepted formats, by Pillow's names. Others are rare or, like EPS, start programs."""
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif")
"""The endings of image files in a folder."""
_TRANSPOSITIONS = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"}
_TRANSPOSITIONS |= {6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90"}
"""The transposition that makes an image upright, by its EXIF orientation."""
_MIN_SIDE = 8  # in pixels; no side is scaled below it


class ImageHeader(NamedTuple):
    """The header of an image file.

    Attributes:
        format: Pillow's name of the format, like `PNG`; `MPO` for a JPEG with further images.
        width: Width in pixels of the displayed image, with orientation applied.
        height: Height in pixels of the displayed image.
        orientation: EXIF orientation: 1 (upright) to 8.
    """

    format: str
    width: int
    height: int
    orientation: int


def read_header(value: str | os.PathLike[str] | bytes) -> ImageHeader:
    """Return an image's header, without decoding its pixels unless it is a TIFF file.

    Args:
        value: A path, or the file's content.

    Raises:
        FileError: The file is not an image of `FORMATS`, or has more pixels than Pillow allows
            (178,956,970).

    Example:
        >>> read_header(b"P6 3 2 255 ..................")
        ImageHeader(format='PPM', width=3, height=2, orientation=1)
    """
    import PIL  # noqa: F401 - a missing package is not the image's fault

    with _convert_errors(value), _open_value(value) as image:
        if image.format == "TIFF":
            image.load()  # Pillow applies the orientation of a TIFF when it decodes it
        orientation = _read_orientation(image)
        width, height = image.size if orientation < 5 else image.size[::-1]
        return ImageHeader(str(image.format), width, height, orientation)


def open_image(value: Any, mode: str = "RGB", longest: int | None = None) -> Image:
    """Return an image upright, in RGB or greyscale, and scaled down to a maximum size.

    The EXIF orientation is applied, transparent pixels become white, the first frame of an
    animation is used, and 16-bit grey values are scaled to 8 bits.

    Args:
        value: A path, the bytes of a file, a PIL image, an 8-bit or 16-bit grey array, or a mapping
            with `path` or `bytes`, as in `datasets`.
        mode: `RGB` or `L`.
        longest: Maximum length of the longer side; larger images are scaled down, but no side to
            less than 8 pixels. Without it, no side may be over 200 times as long as the other.

    Raises:
        FileError: The value is none of these, cannot be read completely, or has more pixels than
            Pillow allows (178,956,970).

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> path, exif = Path(tempfile.mkdtemp()) / "a.jpg", Image.Exif()
        >>> exif[0x0112] = 6  # the camera was held upright
        >>> Image.new("RGB", (40, 30)).save(path, exif=exif)
        >>> open_image(path).size, open_image(path, "L", longest=20).size
        ((30, 40), (15, 20))
    """
    from PIL import Image

    if isinstance(value, Mapping):
        value = value.get("path") if value.get("bytes") is None else value["bytes"]
    with _convert_errors(value), _open_value(value) as image:
        if longest:
            image.draft("RGB", (longest, longest))  # decodes a JPEG at a smaller size
        elif max(image.size) > 200 * min(image.size):  # processors enlarge the shorter side
            raise Image.DecompressionBombError
        if image.mode == "F":  # it may be from 0 to 1, which a conversion would make black
            raise TypeError
        image.load()
        transposition = _TRANSPOSITIONS.get(_read_orientation(image))
        factor = max(image.size) // (longest or max(image.size))
        if image.mode[0] != "I" and (image.mode[-1] in "Aa" or "transparency" in image.info):
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        if factor > 1 and image.mode in ("L", "RGB"):  # before conversions copy it
            image = image.reduce(tuple(max(1, min(factor, n // _MIN_SIDE)) for n in image.size))
        # Older versions of Pillow open a 16-bit grey PNG in the 32-bit mode I.
        if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
            import numpy as np

            grey = (np.asarray(image).astype(np.int64) + 128) // 257  # Pillow would clip at 255
            image = Image.fromarray(grey.astype(np.uint8))
        image = image.convert(mode)
        if longest and max(image.size) > longest:
            scale = longest / max(image.size)
            size = tuple(max(min(_MIN_SIDE, side), round(side * scale)) for side in image.size)
            image = image.resize(size, Image.Resampling.BOX)
        for key in ("exif", "xmp", "XML:com.adobe.xmp", "Raw profile type exif"):
            image.info.pop(key, None)  # or else a reader would apply the orientation again
        return image if transposition is None else image.transpose(Image.Transpose[transposition])


@contextlib.contextmanager
def _convert_errors(value: Any) -> Iterator[None]:
    """Turn any error in a block into a `FileError`, and hide warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        what, remedy = "an image", "give a path, a PIL image, or an 8-bit or 16-bit grey array"
        if isinstance(value, (str, os.PathLike)):
            what, remedy = f"the image {value}", "check the path, or save the image as PNG"
        raise FileError(f"{what} cannot be read ({type(error).__name__}); {remedy}") from None


@contextlib.contextmanager
def _open_value(value: Any) -> Iterator[Any]:
    from PIL import Image

    if isinstance(value, Image.Image):
        yield value
    elif isinstance(value, (str, os.PathLike, bytes)):
        if not isinstance(value, bytes) and not Path(value).is_file():
            raise FileNotFoundError(value)  # also for a pipe, whose reader might wait for ever
        source = io.BytesIO(value) if isinstance(value, bytes) else value
        with Image.open(source, formats=FORMATS) as image:
            yield image
    else:
        yield Image.fromarray(value)


def _read_orientation(image: Any) -> int:
    with contextlib.suppress(Exception):  # damaged EXIF data with intact pixels
        if (orientation := image.getexif().get(0x0112)) in _TRANSPOSITIONS:
            return orientation
    return 1
