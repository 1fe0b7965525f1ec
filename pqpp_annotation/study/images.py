"""The images of a study: found, opened, hashed and copied before the study starts.

People see copies: upright, in sRGB, of one size and type, with nothing but their pixels. A copy
is in a folder next to the study file under the hash of its own bytes. Only these are sent to a
browser: the file as it was found may say which model made it.
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
from pqpp_files.atomic_write import write_whole
from pqpp_files.errors import FileError
from pqpp_files.extras import needing
from pqpp_files.foreign.images import FORMATS, open_image, read_header
from pqpp_files.paths import expand
from pqpp_files.table_formats import cut_batches

if TYPE_CHECKING:
    from PIL.Image import Image


MOST_PIXELS = 100_000_000
_QUALITY = {"quality": 95, "subsampling": 0}
_BARS = (127, 127, 127)
_TOLD = 5
_NEAR = 0.05  # a gamma so near to that of sRGB is sRGB


@dataclass(frozen=True, slots=True)
class CheckedImage:
    """An image that opens; see `store.tables.Asset`."""

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
    """Return an image's record and the copy that people see, or the problem with it.

    A copy is written from pixels that are upright and in sRGB: on a square canvas as JPEG, or as
    PNG with the pixels of the file, so that neither metadata nor the type reveal the model.

    Args:
        content: The original file; `location` names it.
        image_size: Pixels of a side of the canvas; None for a copy of the file's size.
        fit: `pad` shows the whole image with grey bars, `crop` the middle that fills the canvas.

    Example:
        >>> make_blind_copy(b"<svg/>", "a.svg")
        'it is not an image in PNG, JPEG, GIF, BMP, PPM, WEBP, TIFF, AVIF'
    """
    from PIL import Image as images

    try:
        header = read_header(content)
    except FileError:
        return f"it is not an image in {', '.join(FORMATS)}"
    size = (header.width, header.height)
    if size[0] * size[1] > MOST_PIXELS:
        return f"it has {size[0] * size[1]:,} pixels; {MOST_PIXELS:,} are allowed"
    try:
        image = _to_srgb(open_image(content), content)  # whole: a truncated one has a whole header
    except FileError as error:
        return f"it is damaged ({str(error)[:120]})"
    frame = [0.0, 0.0, 1.0, 1.0]
    if image_size is not None:
        scale = image_size / (max if fit == "pad" else min)(size)
        width, height = (max(1, round(side * scale)) for side in size)
        left, top = (image_size - width) // 2, (image_size - height) // 2
        frame = [one / image_size for one in (left, top, left + width, top + height)]
        canvas = images.new("RGB", (image_size, image_size), _BARS)
        inside = [max(0, -round(at / scale)) for at in (left, top)]
        box = (*inside, *(side - at for side, at in zip(size, inside, strict=True)))
        shown = (min(width, image_size), min(height, image_size))
        image = image.resize(shown, images.Resampling.LANCZOS, box)
        canvas.paste(image, (max(0, left), max(0, top)))
        image = canvas
    kind = "PNG" if image_size is None else "JPEG"
    file = io.BytesIO()
    bare = images.frombytes("RGB", image.size, image.tobytes())  # whose notes are left behind
    bare.save(file, kind, **(_QUALITY if kind == "JPEG" else {}))
    copy = file.getvalue()
    file_width, file_height = size[::-1] if header.orientation > 4 else size
    name, sha256 = (hashlib.sha256(one).hexdigest() for one in (copy, content))
    found: dict[str, Any] = {"sha256": sha256, "shown": name, "frame": frame}
    found |= {"width": image.width, "height": image.height}
    found |= {"file_width": file_width, "file_height": file_height}
    found |= {"media_type": f"image/{kind.lower()}", "orientation": header.orientation}
    return CheckedImage(location=location, **found), copy


def _to_srgb(image: Image, content: bytes) -> Image:
    """Return an image in sRGB, by the numbers of its profile or else of PNG's gAMA.

    If nothing can be made of its profile, and where it changes no colour by more than one level,
    the image stays as it is.
    """
    from PIL import Image as images
    from PIL import ImageCms

    gamma = 0 if "srgb" in image.info else image.info.get("gamma", 0)
    if profile := image.info.get("icc_profile"):
        try:
            icc = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            mode = {"CMYK": "CMYK", "GRAY": "L"}.get(icc.profile.xcolor_space.strip(), "RGB")
            if mode == "L" and _measure_difference(image, image.convert("L").convert("RGB")):
                return image  # in colour: it is another file's profile
            stored = images.open(io.BytesIO(content)).mode  # noqa: TID251 -- it was read above
            if mode == "CMYK" != stored:
                return image
            transform = ImageCms.buildTransform(icc, ImageCms.createProfile("sRGB"), mode, "RGB")
            steps = range(0, 256, 17)
            colours = bytes(n for red in steps for green in steps for blue in steps
                            for n in (red, green, blue))  # fmt: skip
            some = images.frombytes("RGB", (len(steps) ** 2, len(steps)), colours)
            if (
                mode == "RGB"
                and _measure_difference(some, ImageCms.applyTransform(some, transform)) <= 1
            ):
                return image
            return ImageCms.applyTransform(
                image if mode == "RGB" else open_image(content, mode), transform
            )
        except (ImageCms.PyCMSError, OSError, TypeError, ValueError):
            return image
    if gamma <= 0 or abs(gamma * 2.2 - 1) < _NEAR:
        return image
    light = [(level / 255) ** (1 / gamma) for level in range(256)]
    levels = [
        12.92 * one if one <= 0.0031308 else 1.055 * one ** (1 / 2.4) - 0.055 for one in light
    ]
    return image.point([round(255 * level) for level in levels] * 3)


def _measure_difference(first: Image, second: Image) -> int:
    from PIL import ImageChops

    extrema = ImageChops.difference(first, second).getextrema()
    return max(high for _, high in extrema)


class Copies:
    """The folder of copies of a study.

    Args:
        folder: Its folder; created with the first copy.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[str] = []

    def get_path(self, shown: str) -> Path:
        """Return the path of a copy by its hash."""
        return self._folder / shown[:2] / shown

    def read(self, shown: str) -> bytes | None:
        """Return a copy; None if it is missing or has changed."""
        try:
            content = self.get_path(shown).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == shown else None

    def write(self, shown: str, content: bytes) -> None:
        """Write a copy."""
        path = self.get_path(shown)
        if not path.exists() or self.read(shown) is None:
            self._new.append(shown)
            write_whole(path, content)

    def remove_new(self) -> None:
        """Remove what was written since this was made, and folders that are empty then."""
        for shown in self._new:
            self.get_path(shown).unlink(missing_ok=True)
        for folder in (*{self.get_path(shown).parent for shown in self._new}, self._folder):
            with contextlib.suppress(OSError):  # another copy is there
                folder.rmdir()


MOST_BYTES = 30_000_000


@contextlib.contextmanager
def check_images(
    names: Iterable[str], place_of: Callable[[str], Path], study: Study
) -> Iterator[dict[str, CheckedImage]]:
    """Open, hash and copy images; remove the copies if the block fails.

    Args:
        names: Names of the images.
        place_of: Returns the file of a name.
        study: Defines the folder and size of the copies.

    Yields:
        Name to what is known of it, in the same order.

    Raises:
        AnnotationError: Images are missing, broken, of another type or too large; names five, and
            counts the others.

    Example:
        >>> from pqpp_annotation.study.study import parse_study
        >>> study = parse_study({"name": "mine", "kind": "rating"})
        >>> with check_images(["a.png"], Path("nowhere").joinpath, study):
        ...     pass
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.AnnotationError: image a.png: no such file ...
    """
    with needing("pqpp annotate", "annotate"):
        import PIL  # noqa: F401
    copies = get_copies(study)
    checked: dict[str, CheckedImage | str] = {}
    try:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for batch in cut_batches(names):  # what waits in a pool takes memory
                checks = pool.map(lambda name: _check(place_of(name), study, copies), batch)
                checked |= zip(batch, checks, strict=True)
        faults = [f"image {n}: {one}" for n, one in checked.items() if isinstance(one, str)]
        if faults:
            more = f"; and {len(faults) - _TOLD} more" if faults[_TOLD:] else ""
            said = "; ".join(faults[:_TOLD])
            raise AnnotationError(f"{said}{more}; correct the table or the folder")
        yield {name: check for name, check in checked.items() if not isinstance(check, str)}
    except BaseException:
        copies.remove_new()
        raise


def get_copies(study: Study) -> Copies:
    """Return the folder of the copies that annotators see."""
    return Copies(study.root / f"{study.name}-shown")


def _check(path: Path, study: Study, copies: Copies) -> CheckedImage | str:
    """Copy an image and return its record, or what is wrong with it."""
    try:
        if not path.is_file():
            return f"no such file {path}"
        size = path.stat().st_size
        if size > MOST_BYTES:
            return f"it has {size:,} bytes; {MOST_BYTES:,} are allowed"
        content = path.read_bytes()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return copy_image(content, get_relative_path(study.root, path.absolute()), study, copies)


def copy_image(content: bytes, location: str, study: Study, copies: Copies) -> CheckedImage | str:
    """Copy an image, and return its record, or what is wrong with it."""
    found = make_blind_copy(content, location, study.image_size, study.fit)
    if isinstance(found, str):
        return found
    image, copy = found
    copies.write(image.shown, copy)
    return image


def get_relative_path(folder: Path, path: str | os.PathLike[str]) -> str:
    """Return a path relative to the study file's folder, if it is inside."""
    absolute, base = expand(path).absolute(), folder.absolute()
    inside = absolute.is_relative_to(base)
    return str(absolute.relative_to(base) if inside else absolute)
