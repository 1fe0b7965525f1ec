"""The images of a study: found, opened, hashed and copied before anybody is asked.

People see copies: upright, in sRGB, with nothing but their pixels. A copy lies in a folder beside
the study file under the hash of its own bytes. Only these are sent to a browser: the file as it
was found may say which model made it.
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
from typing import TYPE_CHECKING

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.study.study import Study
from pqpp_files.errors import FileError
from pqpp_files.extras import needing
from pqpp_files.foreign.images import image_header, open_image
from pqpp_files.paths import expanded
from pqpp_files.table_formats import batches
from pqpp_files.write_beside import write_whole

if TYPE_CHECKING:
    from PIL.Image import Image


MOST_PIXELS = 100_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
"""What every browser shows; the content tells the type, not the name."""
_QUALITY = {"quality": 95, "subsampling": 0}
_SRGB = "sRGB"


@dataclass(frozen=True, slots=True)
class CheckedImage:
    """An image that opens; see `store.tables.Asset`."""

    sha256: str
    location: str
    media_type: str
    width: int
    height: int
    size: int
    shown: str
    orientation: int
    file_width: int
    file_height: int


def blind_copy(
    content: bytes, location: str, image_size: int | None = None
) -> tuple[CheckedImage, bytes] | str:
    """Return what is known of an image, and its copy as people see it; or what is wrong with it.

    The copy is written anew from the pixels, upright and in sRGB, so that nothing else is in it: a
    JPEG as JPEG, all others without loss as PNG, and images of one size all as JPEG, as the type
    tells the model too.

    Args:
        content: The file as it was found; `location` says where.
        image_size: Pixels of the longer side of every copy; as the file has it if left out.

    Example:
        >>> blind_copy(b"<svg/>", "a.svg")
        'it is no image in PNG, JPEG, WEBP, GIF'
    """
    from PIL import Image as images

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
    image = (None if profile is None else _in_srgb(image, profile)) or image
    kind = "JPEG" if kind == "JPEG" or image_size else "PNG"
    if image_size is not None:
        scale = image_size / max(image.size)
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), images.Resampling.LANCZOS)
    bare = images.frombytes("RGB", image.size, image.tobytes())  # whose notes are left behind
    file = io.BytesIO()
    bare.save(file, kind, **(_QUALITY if kind == "JPEG" else {}))
    copy = file.getvalue()
    file_width, file_height = size[::-1] if header.orientation > 4 else size
    return CheckedImage(
        sha256=hashlib.sha256(content).hexdigest(),
        location=location,
        media_type=f"image/{kind.lower()}",
        width=image.width,
        height=image.height,
        size=len(copy),
        shown=hashlib.sha256(copy).hexdigest(),
        orientation=header.orientation,
        file_width=file_width,
        file_height=file_height,
    ), copy


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


class Copies:
    """The folder of copies of a study.

    Args:
        folder: Where it lies; made when the first copy is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[str] = []

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
        """Keep a copy."""
        place = self.place(shown)
        if not place.exists() or self.read(shown) is None:
            self._new.append(shown)
            write_whole(place, content)

    def take_back(self) -> None:
        """Remove what was written since this was made, and folders that are empty then."""
        for shown in self._new:
            self.place(shown).unlink(missing_ok=True)
        for folder in (*{self.place(shown).parent for shown in self._new}, self._folder):
            with contextlib.suppress(OSError):  # another copy is there
                folder.rmdir()


MOST_BYTES = 30_000_000


@contextlib.contextmanager
def checked_images(
    names: Iterable[str], place_of: Callable[[str], Path], study: Study
) -> Iterator[dict[str, CheckedImage]]:
    """Open, hash and copy images; the copies are taken back where what is done with them fails.

    Args:
        names: Of the images.
        place_of: Returns the file of a name.
        study: Says where the copies lie, and how large they are.

    Yields:
        Name to what is known of it, in the same order.

    Raises:
        AnnotationError: Images are missing, broken, of another type or too large; names the first,
            and says how many there are.

    Example:
        >>> from pqpp_annotation.study.study import study_of
        >>> study = study_of({"name": "mine", "kind": "rating"})
        >>> with checked_images(["a.png"], Path("nowhere").joinpath, study):
        ...     pass
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.AnnotationError: image a.png: there is no such file ...
    """
    with needing("pqpp annotate", "annotate"):
        import PIL  # noqa: F401
    copies = copies_of(study)
    checked: dict[str, CheckedImage | str] = {}
    try:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for part in batches(names):  # what waits in a pool takes memory
                checks = pool.map(lambda name: _checked(place_of(name), study, copies), part)
                checked |= zip(part, checks, strict=True)
        faults = [f"image {n}: {one}" for n, one in checked.items() if isinstance(one, str)]
        if faults:
            more = f" (and {len(faults) - 1} more images that cannot be used)" if faults[1:] else ""
            raise AnnotationError(f"{faults[0]}; correct the table or the folder{more}")
        yield {name: check for name, check in checked.items() if not isinstance(check, str)}
    except BaseException:
        copies.take_back()
        raise


def copies_of(study: Study) -> Copies:
    """Return the folder of the copies that people are shown."""
    return Copies(study.root / f"{study.name}-shown")


def _checked(path: Path, study: Study, copies: Copies) -> CheckedImage | str:
    """Return what is known of an image once it is copied, or what is wrong with it."""
    try:
        if not path.is_file():
            return f"there is no such file {path}"
        size = path.stat().st_size
        if size > MOST_BYTES:
            return f"it has {size:,} bytes; {MOST_BYTES:,} are allowed"
        content = path.read_bytes()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return copied(content, seen_from(study.root, path.absolute()), study, copies)


def copied(content: bytes, location: str, study: Study, copies: Copies) -> CheckedImage | str:
    """Keep the copy of an image, and return what is known of it, or what is wrong with it."""
    found = blind_copy(content, location, study.image_size)
    if isinstance(found, str):
        return found
    image, copy = found
    copies.write(image.shown, copy)
    return image


def seen_from(folder: Path, path: str | os.PathLike[str]) -> str:
    """Return a path as the study file names it."""
    absolute, base = expanded(path).absolute(), folder.absolute()
    inside = absolute.is_relative_to(base)
    return str(absolute.relative_to(base) if inside else absolute)


def unique(images: Iterable[CheckedImage]) -> list[CheckedImage]:
    """Return each content once, the first of those with one hash.

    Example:
        >>> a = CheckedImage("5f", "a.png", "image/png", 8, 6, 75, "7c", 1, 8, 6)
        >>> b = CheckedImage("5f", "b.png", "image/png", 8, 6, 75, "7c", 1, 8, 6)
        >>> [one.location for one in unique([a, b])]
        ['a.png']
    """
    return list({image.sha256: image for image in reversed(list(images))}.values())
