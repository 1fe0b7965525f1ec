"""The images of a study: found, opened, measured and hashed before anybody is asked."""

import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pqpp_annotation.errors import StudyError
from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_files.paths import expanded

MOST_BYTES = 30_000_000
MOST_PIXELS = 100_000_000
MEDIA_TYPES = {name: f"image/{name.lower()}" for name in ("PNG", "JPEG", "WEBP", "GIF")}
"""What every browser shows; the content tells the type, not the name."""


@dataclass(frozen=True)
class CheckedImage:
    """An image that opens.

    Attributes:
        location: Its path, relative to the study file's folder where it lies below it.
        size: In bytes.
    """

    sha256: str
    location: str
    media_type: str
    width: int
    height: int
    size: int


def check_images(paths: Mapping[str, Path], root: Path) -> dict[str, CheckedImage]:
    """Open, measure and hash images.

    Args:
        paths: Name of each image to its file.
        root: The folder of the study file.

    Returns:
        Name to what is known of it, in the same order.

    Raises:
        StudyError: Images are missing, broken, of another type or too large; one line that names
            the first and says how many there are.

    Example:
        >>> check_images({"a.png": Path("nowhere/a.png")}, Path())
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.StudyError: image a.png: there is no such file nowhere/a.png; ...
    """
    with needing("pqpp annotate", "annotate"):
        import PIL  # noqa: F401
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        checks = pool.map(lambda path: _checked(path, root), paths.values())
        found = dict(zip(paths, checks, strict=True))
    faults = [f"image {name}: {one}" for name, one in found.items() if isinstance(one, str)]
    if faults:
        more = f" (and {len(faults) - 1} more images that cannot be used)" if faults[1:] else ""
        raise StudyError(f"{faults[0]}; correct the table or the folder{more}")
    return {name: one for name, one in found.items() if not isinstance(one, str)}


def _checked(path: Path, root: Path) -> CheckedImage | str:
    """Return what is known of an image, or what is wrong with it."""
    try:
        if not path.is_file():
            return f"there is no such file {path}"
        size = path.stat().st_size
        if size > MOST_BYTES:
            return f"it has {size:,} bytes; {MOST_BYTES:,} are allowed"
        content = path.read_bytes()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    measured = measure_image(content)
    if isinstance(measured, str):
        return measured
    sha256 = hashlib.sha256(content).hexdigest()
    return CheckedImage(sha256, seen_from(root, path.absolute()), *measured, len(content))


def seen_from(folder: Path, path: str | os.PathLike[str]) -> str:
    """Return a path as the study file names it."""
    absolute, base = expanded(path).absolute(), folder.absolute()
    inside = absolute.is_relative_to(base)
    return str(absolute.relative_to(base) if inside else absolute)


def measure_image(content: bytes) -> tuple[str, int, int] | str:
    """Return the media type, width and height of an image, or what is wrong with it.

    Example:
        >>> measure_image(b"<svg/>")
        'it is no image in PNG, JPEG, WEBP, GIF'
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a large one is told below
            kinds = tuple(MEDIA_TYPES)
            with Image.open(io.BytesIO(content), formats=kinds) as image:  # noqa: TID251
                width, height = image.size
                if width * height > MOST_PIXELS:
                    return f"it has {width * height:,} pixels; {MOST_PIXELS:,} are allowed"
                image.load()  # a truncated one has a whole header
                return MEDIA_TYPES[image.format], width, height
    except UnidentifiedImageError:
        return f"it is no image in {', '.join(MEDIA_TYPES)}"
    except Exception as error:  # Pillow raises many kinds for damaged files
        return f"it is damaged ({in_a_line(error)[:120]})"


def unique(images: Iterable[CheckedImage]) -> list[CheckedImage]:
    """Return each content once, the first of those with one hash.

    Example:
        >>> a = CheckedImage("5f", "a.png", "image/png", 8, 6, 75)
        >>> b = CheckedImage("5f", "b.png", "image/png", 8, 6, 75)
        >>> [one.location for one in unique([a, b])]
        ['a.png']
    """
    return list({one.sha256: one for one in reversed(list(images))}.values())
