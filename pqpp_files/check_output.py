"""The one gate for outputs: asked before work begins, so that nothing fails or is lost at its end.

Nothing is created or changed here.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pqpp_files.errors import FileError


def check_output(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse a file that could not be written, or that is an input.

    Args:
        path: The file; neither it nor its folder need be there. A pipe or a device may be written.
        inputs: The files that are read for it; those that are not there don't count.

    Raises:
        FileError: It is a folder or one of the inputs, also by way of a link, or its folder cannot
            be one or be written to.

    Example:
        >>> check_output("/")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: / is a folder; name a file
    """
    place = Path(path).expanduser()
    if place.is_dir():
        raise FileError(f"{path} is a folder; name a file")
    if place.exists() and not place.is_file():
        return
    for one in inputs:
        given = Path(one).expanduser()
        if place.exists() and given.exists() and given.samefile(place):
            raise FileError(f"{path} is the input {one}; name another file")
    check_output_folder(behind_links(place).parent)


def check_output_folder(
    folder: str | os.PathLike[str],
    patterns: Sequence[str] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Refuse a folder in which nothing could be written, or that holds what is not to be replaced.

    Args:
        folder: The folder; it need not be there.
        patterns: The names that may be in it; any if None.
        inputs: What is read for it, which must not lie in it.

    Raises:
        FileError: It or what it shall lie in is a file, or cannot be written to; it holds something
            else or an input; or its name is no text.

    Example:
        >>> check_output_folder(__file__)
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ...check_output.py is a file; name a folder
    """
    place = Path(folder).expanduser()
    try:
        os.fspath(place).encode()
    except UnicodeEncodeError:  # cards could not name it, and safetensors refuses it
        raise FileError(f"{str(folder)!a} is no text in UTF-8; name another folder") from None
    target = behind_links(place).absolute()
    nearest = next(one for one in (target, *target.parents) if one.exists())
    with contextlib.suppress(FileNotFoundError):  # another process may just be replacing it
        found = nearest.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise FileError(f"{nearest} is a file; name a folder")
        is_closed = not os.access(nearest, os.W_OK | os.X_OK)
        if is_closed and os.path.samestat(nearest.stat(), found):
            raise FileError(f"{nearest} cannot be written to; name another folder")
    for one in inputs:
        if target.resolve() in (given := Path(one).resolve(), *given.parents):
            raise FileError(f"{folder} holds the input {one}; name another folder")
    try:
        names = sorted(path.name for path in target.iterdir())
    except FileNotFoundError:
        names = []
    foreign = [
        name
        for name in names
        if patterns is not None and not any(fnmatchcase(name, one) for one in patterns)
    ]
    if foreign:
        raise FileError(
            f"{folder} holds other things ({', '.join(foreign[:3])}); name a new folder"
        )


def behind_links(path: Path) -> Path:
    """Return what a link points to, there or not; the link stays, and its target is replaced.

    Raises:
        FileError: The links lead in a circle.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "link").symlink_to(folder / "target")
        >>> behind_links(folder / "link").name
        'target'
    """
    if not path.is_symlink():
        return path
    try:
        target = path.resolve()
    except RuntimeError:
        target = path
    if target.is_symlink():
        raise FileError(f"{path}: its links lead in a circle; remove it")
    return target
