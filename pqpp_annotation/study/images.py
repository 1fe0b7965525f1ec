"""Checking, hashing and copying the images of a study before it starts.

Annotators see copies: upright, in sRGB, of one size and format, without metadata. A copy is named
by its hash, in a folder next to the study file. Original files are never sent to a browser, as they
can reveal the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.study.study import Study
from pqpp_files.atomic_write import write_file
from pqpp_files.errors import FileError
from pqpp_files.extras import require_extra
from pqpp_files.foreign.images import FORMATS, open_image, read_header
from pqpp_files.paths import expand, join_inside
from pqpp_files.table_formats import cut_batches

if TYPE_CHECKING:
    from PIL.Image import Image


MOST_PIXELS = 100_000_000
_JPEG_OPTIONS = {"quality": 95, "subsampling": 0}
_BAR_COLOR = (127, 127, 127)
_MOST_REPORTED = 5


@dataclass(frozen=True, slots=True)
class CheckedImage:
    """The record of a valid image; the fields are those of `store.tables.Asset`."""

    sha256: str
    location: str
    media_type: str
    width: int
    height: int
    shown: str
    orientation: int
    file_width: int
    file_height: int
    frame: list[float]


def make_blind_copy(
    content: bytes, location: str, image_size: int | None = None, fit: str = "pad"
) -> tuple[CheckedImage, bytes] | str:
    """Return an image's record and displayed copy, or a description of its fault.

    The copy is upright and in sRGB: a square JPEG, or a PNG of the original size, so that neither
    metadata nor the format reveals the model.

    Args:
        content: The bytes of the original file.
        image_size: Side of the square in pixels; None for the original size.
        fit: `pad` adds grey bars, `crop` cuts the image to fill the square.

    Example:
        >>> make_blind_copy(b"<svg/>", "a.svg")
        'unknown format; use PNG, JPEG, GIF, BMP, PPM, WEBP, TIFF, AVIF'
    """
    from PIL import Image as images

    try:
        header = read_header(content)
    except FileError:
        return f"unknown format; use {', '.join(FORMATS)}"
    size = (header.width, header.height)
    if size[0] * size[1] > MOST_PIXELS:
        return f"expected up to {MOST_PIXELS:,} pixels, got {size[0] * size[1]:,}"
    try:
        image = _to_srgb(open_image(content), content)  # decodes the whole file
    except FileError as error:
        return f"damaged file ({str(error)[:120]})"
    frame = [0.0, 0.0, 1.0, 1.0]
    if image_size is not None:
        scale = image_size / (max if fit == "pad" else min)(size)
        width, height = (max(1, round(side * scale)) for side in size)
        left, top = (image_size - width) // 2, (image_size - height) // 2
        frame = [edge / image_size for edge in (left, top, left + width, top + height)]
        canvas = images.new("RGB", (image_size, image_size), _BAR_COLOR)
        offset = [max(0, -round(at / scale)) for at in (left, top)]
        box = (*offset, *(side - at for side, at in zip(size, offset, strict=True)))
        visible_size = (min(width, image_size), min(height, image_size))
        image = image.resize(visible_size, images.Resampling.LANCZOS, box)
        canvas.paste(image, (max(0, left), max(0, top)))
        image = canvas
    kind = "PNG" if image_size is None else "JPEG"
    file = io.BytesIO()
    stripped = images.frombytes("RGB", image.size, image.tobytes())  # without metadata
    stripped.save(file, kind, **(_JPEG_OPTIONS if kind == "JPEG" else {}))
    copy = file.getvalue()
    file_width, file_height = size[::-1] if header.orientation > 4 else size
    name, sha256 = (hashlib.sha256(data).hexdigest() for data in (copy, content))
    fields: dict[str, Any] = {"sha256": sha256, "shown": name, "frame": frame}
    fields |= {"width": image.width, "height": image.height}
    fields |= {"file_width": file_width, "file_height": file_height}
    fields |= {"media_type": f"image/{kind.lower()}", "orientation": header.orientation}
    return CheckedImage(location=location, **fields), copy


def _to_srgb(image: Image, content: bytes) -> Image:
    """Convert an image to sRGB by its ICC profile, if the profile is valid and fits the image."""
    from PIL import Image as images
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if not profile:
        return image
    try:
        icc = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        mode = {"CMYK": "CMYK", "GRAY": "L"}.get(icc.profile.xcolor_space.strip(), "RGB")
        stored = images.open(io.BytesIO(content)).mode  # noqa: TID251 -- checked above
        if mode != "RGB" and not stored.startswith(mode):
            return image
        stored_image = image if mode == "RGB" else open_image(content, mode)
        srgb = ImageCms.createProfile("sRGB")
        return ImageCms.profileToProfile(stored_image, icc, srgb, outputMode="RGB") or image
    except (ImageCms.PyCMSError, OSError, TypeError, ValueError):
        return image


class Copies:
    """The displayed copies of a study's images.

    Args:
        folder: The folder; created with the first copy.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[str] = []
        self._missing = [path for path in (folder, *folder.parents) if not path.exists()]

    def get_path(self, copy_hash: str) -> Path:
        """Return the path of a copy by its hash."""
        return self._folder / copy_hash[:2] / copy_hash

    def read(self, copy_hash: str) -> bytes | None:
        """Return the bytes of a copy; None if it is missing, has changed or is elsewhere."""
        with contextlib.suppress(OSError, FileError):
            path = join_inside(self._folder, Path(copy_hash[:2], copy_hash))
            content = path.read_bytes() if path.is_file() else b""
            return content if hashlib.sha256(content).hexdigest() == copy_hash else None
        return None

    def write(self, copy_hash: str, content: bytes) -> None:
        """Write a copy under its hash, unless it exists."""
        path = self.get_path(copy_hash)
        if not path.exists() or self.read(copy_hash) is None:
            self._new.append(copy_hash)
            write_file(path, content)

    def remove_new_copies(self) -> None:
        """Delete the copies that this object has written, and folders that are then empty."""
        for copy_hash in self._new:
            self.get_path(copy_hash).unlink(missing_ok=True)
        for folder in (*{self.get_path(h).parent for h in self._new}, *self._missing):
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()


MOST_BYTES = 30_000_000


@contextlib.contextmanager
def copy_images(
    names: Iterable[str], find_path: Callable[[str], Path], study: Study
) -> Iterator[dict[str, CheckedImage]]:
    """Open, hash and copy images; delete the new copies if the block fails.

    Args:
        find_path: Returns the path of an image by name.
        study: The study, which defines the folder, size and fit of the copies.

    Yields:
        Records by image name, in the order of `names`.

    Raises:
        AnnotationError: Images are missing, damaged, of another format or too large.

    Example:
        >>> from pqpp_annotation.study.study import parse_study
        >>> study = parse_study({"name": "mine", "kind": "rating"})
        >>> with copy_images(["a.png"], Path("nowhere").joinpath, study):
        ...     pass
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.AnnotationError: image a.png: nowhere/a.png not found; ...
    """
    with require_extra("pqpp annotate", "annotate"):
        import PIL  # noqa: F401
    copies = get_copies(study)
    checked: dict[str, CheckedImage | str] = {}
    try:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for batch in cut_batches(names):  # limits memory
                checks = pool.map(lambda name: _copy_file(find_path(name), study, copies), batch)
                checked |= zip(batch, checks, strict=True)
        faults = [f"image {n}: {check}" for n, check in checked.items() if isinstance(check, str)]
        if faults:
            reported = faults[:_MOST_REPORTED]
            if len(faults) > _MOST_REPORTED:
                reported.append(f"and {len(faults) - _MOST_REPORTED} more")
            raise AnnotationError(f"{'; '.join(reported)}; correct the table or replace the images")
        yield {name: check for name, check in checked.items() if not isinstance(check, str)}
    except BaseException:
        copies.remove_new_copies()
        raise


def get_copies(study: Study) -> Copies:
    """Return the displayed copies of a study's images."""
    return Copies(join_inside(study.root, f"{study.name}-shown"))


def _copy_file(path: Path, study: Study, copies: Copies) -> CheckedImage | str:
    """Copy an image file and return its record, or a description of its fault."""
    try:
        if not path.is_file():
            return f"{path} not found"
        size = path.stat().st_size
        if size > MOST_BYTES:
            return f"expected up to {MOST_BYTES:,} bytes, got {size:,}"
        content = path.read_bytes()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return copy_image(content, get_relative_path(study.root, path.absolute()), study, copies)


def copy_image(content: bytes, location: str, study: Study, copies: Copies) -> CheckedImage | str:
    """Write the copy of an image and return its record, or a description of its fault."""
    result = make_blind_copy(content, location, study.image_size, study.fit)
    if isinstance(result, str):
        return result
    image, copy = result
    copies.write(image.shown, copy)
    return image


def get_relative_path(folder: Path, path: str | os.PathLike[str]) -> str:
    """Return a path relative to a folder if it is inside, else the absolute path."""
    absolute, base = expand(path).absolute(), folder.absolute()
    return str(absolute.relative_to(base) if absolute.is_relative_to(base) else absolute)
