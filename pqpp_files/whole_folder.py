"""Writing a folder so that the old one or the new one is there, and nobody's files are lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pqpp_files.errors import FileError


def refuse_unwritable_file(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written; nothing is created.

    A command asks at its beginning, so that it does not fail at its end.

    Args:
        path: The file; neither it nor its folder need be there.

    Raises:
        FileError: It is a folder, or its folder cannot be one or be written to.

    Example:
        >>> refuse_unwritable_file("/")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: / is a folder; name a file
    """
    place = Path(path)
    if place.is_dir():
        raise FileError(f"{place} is a folder; name a file")
    if not place.exists() or place.is_file():  # a pipe or a device is not replaced
        refuse_unwritable_folder(place.resolve().parent)


def refuse_unwritable_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder in which no file could be written; nothing is created.

    Args:
        folder: The folder; it need not be there.

    Raises:
        FileError: It or what it shall lie in is a file, or cannot be written to.

    Example:
        >>> refuse_unwritable_folder(__file__)
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ...whole_folder.py is a file; name a folder
    """
    place = Path(folder).absolute()
    nearest = next(one for one in (place, *place.parents) if one.exists())
    if not nearest.is_dir():
        raise FileError(f"{nearest} is a file; name a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise FileError(f"{nearest} cannot be written to; name another folder")


def refuse_foreign_files(folder: str | os.PathLike[str], patterns: Sequence[str]) -> None:
    """Refuse a folder that holds other things than what is to be replaced.

    A training asks at its beginning, so that it does not fail at its end.

    Args:
        folder: The folder; it need not be there.
        patterns: The names that may be in it.

    Raises:
        FileError: It holds something else, or is a file.
    """
    place = Path(folder).expanduser()
    if place.exists() and not place.is_dir():
        raise FileError(f"{place} is a file; name a folder")
    names = sorted(path.name for path in place.iterdir()) if place.exists() else []
    foreign = [name for name in names if not any(fnmatchcase(name, one) for one in patterns)]
    if foreign:
        raise FileError(f"{place} holds other things ({', '.join(foreign[:3])}); name a new folder")


@contextlib.contextmanager
def whole_folder(folder: str | os.PathLike[str], patterns: Sequence[str]) -> Iterator[Path]:
    """Give a new folder beside, and put it in the place of `folder` when all went well.

    The old folder is moved aside first and comes back if the new one cannot take its place; it is
    deleted last. Another process may do the same at the same time: the last one wins.

    Args:
        folder: The folder to write.
        patterns: The names of what an older one may hold.

    Raises:
        FileError: It holds something else, or is a file.
    """
    place = Path(folder).expanduser().absolute()
    refuse_foreign_files(place, patterns)
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    new, old = beside / "new", beside / "old"
    try:
        new.mkdir()
        yield new
        # What came in meanwhile is not lost either.
        refuse_foreign_files(place, patterns)
        if place.exists():
            place.rename(old)
        new.rename(place)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        shutil.rmtree(beside, ignore_errors=True)
