"""The images of a study: found, opened, hashed and copied before anybody is asked."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pqpp_annotation.errors import StudyError
from pqpp_annotation.study.copies import Copies, blind_copy
from pqpp_annotation.study.study import Study
from pqpp_files.extras import needing
from pqpp_files.paths import expanded
from pqpp_files.table_formats import batches

MOST_BYTES = 30_000_000


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
        StudyError: Images are missing, broken, of another type or too large; one line that names
            the first and says how many there are.

    Example:
        >>> from pqpp_annotation.study.study import study_of
        >>> study = study_of({"name": "mine", "kind": "rating"})
        >>> with checked_images(["a.png"], Path("nowhere").joinpath, study):
        ...     pass
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.StudyError: image a.png: there is no such file nowhere/a.png; ...
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
        faults = [
            f"image {name}: {check}" for name, check in checked.items() if isinstance(check, str)
        ]
        if faults:
            more = f" (and {len(faults) - 1} more images that cannot be used)" if faults[1:] else ""
            raise StudyError(f"{faults[0]}; correct the table or the folder{more}")
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
    copy = blind_copy(content, study.image_size)
    if isinstance(copy, str):
        return copy
    copies.write(shown := copy.shown, copy.content)
    return CheckedImage(
        sha256=hashlib.sha256(content).hexdigest(),
        location=location,
        media_type=copy.media_type,
        width=copy.width,
        height=copy.height,
        size=len(copy.content),
        shown=shown,
        orientation=copy.orientation,
        file_width=copy.file_width,
        file_height=copy.file_height,
    )


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
