"""Copies of images as people see them: upright, in sRGB, with nothing but their pixels.

A copy lies in a folder beside the study file under the hash of its own bytes. Only these are sent
to a browser: the file as it was found may say which model made it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_annotation.study.strip import stripped
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import image_header, open_image
from pqpp_files.write_beside import write_whole

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 100_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
"""What every browser shows; the content tells the type, not the name."""
_QUALITY = {"quality": 95, "subsampling": 0}
_SRGB = "sRGB"


@dataclass(frozen=True)
class BlindCopy:
    """What people are shown of an image.

    Attributes:
        content: The bytes of the copy; `media_type`, `width` and `height` are its own.
        orientation: What EXIF said of the file as it was found, 1 to 8.
        file_width: Of the file as it was found, in its own pixels; `file_height` likewise.
    """

    content: bytes
    media_type: str
    width: int
    height: int
    orientation: int
    file_width: int
    file_height: int

    @property
    def shown(self) -> str:
        """The hash of the copy."""
        return hashlib.sha256(self.content).hexdigest()


def blind_copy(content: bytes, image_size: int | None = None) -> BlindCopy | str:
    """Return an image as people are to see it, or what is wrong with it.

    The pixels stay as they are, bit by bit, where they are upright, in sRGB and of the size that is
    wanted; else they are encoded anew: a JPEG as JPEG, all others without loss as PNG, and images
    of one size all as JPEG, as the type tells the model too.

    Args:
        content: The file as it was found.
        image_size: Pixels of the longer side of every copy; as the file has it if left out.

    Example:
        >>> blind_copy(b"<svg/>")
        'it is no image in PNG, JPEG, WEBP, GIF'
    """
    try:
        header = image_header(content)
    except FileError:
        return f"it is no image in {', '.join(FORMATS)}"
    kind = "JPEG" if header.format == "MPO" else header.format
    if kind not in FORMATS:
        return f"it is no image in {', '.join(FORMATS)}"
    size = (header.width, header.height)
    if size[0] * size[1] > MOST_PIXELS:
        return f"it has {size[0] * size[1]:,} pixels; {MOST_PIXELS:,} are allowed"
    try:
        image = open_image(content)  # whole: a truncated one has a whole header
    except FileError as error:
        return f"it is damaged ({str(error)[:120]})"
    profile = image.info.pop("icc_profile", None)
    converted = None if profile is None else _in_srgb(image, profile)
    is_kept = converted is None and header.orientation == 1 and image_size is None
    copy = _kept(content, kind, image) if is_kept else None
    if copy is None:
        image = converted or image
        kind = "JPEG" if kind == "JPEG" or image_size else "PNG"
        image = image if image_size is None else _scaled(image, image_size)
        copy = _encoded(image, kind)
    file_width, file_height = size[::-1] if header.orientation > 4 else size
    return BlindCopy(
        content=copy,
        media_type=f"image/{kind.lower()}",
        width=image.width,
        height=image.height,
        orientation=header.orientation,
        file_width=file_width,
        file_height=file_height,
    )


def _kept(content: bytes, kind: str, image: Image) -> bytes | None:
    """Return the same pixels, bit by bit; None where they stand among others, as in animations."""
    if kind == "GIF":
        return None
    try:
        return stripped(content, kind)
    except ValueError:  # an animation, or laid out in a way that Pillow forgives
        return None


def _in_srgb(image: Image, profile: bytes) -> Image | None:
    """Return an image in sRGB; None where it is, or where nothing can be made of its profile."""
    from PIL import ImageCms

    try:
        own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if own.profile.xcolor_space.strip() != "RGB" or _SRGB in (
            own.profile.profile_description or ""
        ):
            return None
        converted = ImageCms.profileToProfile(image, own, ImageCms.createProfile(_SRGB))
    except (ImageCms.PyCMSError, OSError, TypeError, ValueError):
        return None
    if converted is not None:
        converted.info.pop("icc_profile", None)
    return converted


def _scaled(image: Image, longest: int) -> Image:
    from PIL import Image as images

    scale = longest / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    return image.resize((width, height), images.Resampling.LANCZOS)


def _encoded(image: Image, kind: str) -> bytes:
    from PIL import Image as images

    bare = images.frombytes("RGB", image.size, image.tobytes())  # whose notes are left behind
    file = io.BytesIO()
    bare.save(file, kind, **(_QUALITY if kind == "JPEG" else {}))
    return file.getvalue()


class Copies:
    """The folder of copies of a study.

    Args:
        folder: Where it lies; made when the first copy is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[str] = []
        self._writing, self._is_over = 0, False
        self._changed = threading.Condition()

    def place(self, shown: str) -> Path:
        """Return where the copy with a hash lies."""
        return self._folder / shown[:2] / shown

    def read(self, shown: str) -> bytes | None:
        """Return a copy; None where it is not there, or is no longer what it was."""
        try:
            content = self.place(shown).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == shown else None

    def write(self, shown: str, content: bytes) -> None:
        """Keep a copy; after `take_back` none is kept."""
        place = self.place(shown)
        if place.exists() and self.read(shown) is not None:
            return
        with self._changed:
            if self._is_over:
                return
            self._writing += 1
            self._new.append(shown)
        try:
            write_whole(place, content)
        finally:
            with self._changed:
                self._writing -= 1
                self._changed.notify_all()

    def take_back(self) -> None:
        """Remove what was written since this was made, and folders that are empty then.

        A thread that was just started when a signal came may still write: it is waited for.
        """
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: not self._writing)
        for shown in self._new:
            self.place(shown).unlink(missing_ok=True)
        for folder in (*{self.place(shown).parent for shown in self._new}, self._folder):
            with contextlib.suppress(OSError):  # another copy is there
                folder.rmdir()
