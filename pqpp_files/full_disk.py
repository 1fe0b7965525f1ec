"""Saying that a disk is full: which file, how much was wanted and how much is free."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Torch, safetensors and pyarrow have errors of their own for it.
_WORDS = ("No space left", "failed writing file", "StorageFull", "Disk quota exceeded")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], wanted: int | None = None) -> Iterator[None]:
    """Name what a block was writing when the disk was full; other errors pass.

    Args:
        path: What was to be written, a file or folder.
        wanted: Its bytes, where known.

    Raises:
        OSError: The disk was full, with a path that is not that of a temporary file.

    Example:
        >>> with naming("a.csv", 12):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        OSError: [Errno 28] no space is left for its 12 bytes (... free); ...: 'a.csv'
    """
    try:
        yield
    except Exception as error:
        is_named = isinstance(error, OSError) and error.filename == str(path)
        if is_named or not is_full(error):
            raise
        raise _said(path, wanted) from error


def is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it came of, says that a disk is full.

    Example:
        >>> is_full(OSError(errno.ENOSPC, "No space left on device")), is_full(OSError("else"))
        (True, False)
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        number = error.errno if isinstance(error, OSError) else None
        if number in _NUMBERS or any(words in str(error) for words in _WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _said(path: str | os.PathLike[str], wanted: int | None) -> OSError:
    place = Path(path).expanduser().absolute()
    nearest = next(one for one in (place, *place.parents) if one.exists())
    free = f"{shutil.disk_usage(nearest).free:,} are free"
    size = f" for its {wanted:,} bytes" if wanted is not None else ""
    remedy = "make room, or name another place"
    return OSError(errno.ENOSPC, f"no space is left{size} ({free}); {remedy}", str(path))
