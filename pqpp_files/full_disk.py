"""Saying that a disk is or would be full: which file, how much is wanted and how much is free."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from typing import Any

from pqpp_files.errors import FileError
from pqpp_files.paths import expanded

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE_FULL = 13
# Torch, safetensors and pyarrow have errors of their own without a number. What could not be
# written was rarely the last byte, so that there may be room left.
_WORDS = (
    *("No space left", "failed writing file", "StorageFull", "Disk quota exceeded"),
    *("] . unexpected pos ", "basic_ios::clear: iostream error"),  # torch, at a file's end
)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], wanted: int | None = None) -> Iterator[None]:
    """Name what a block was writing when the disk was full, or a text was none; others pass.

    Args:
        path: What was to be written, a file or folder.
        wanted: Its bytes, where known.

    Raises:
        OSError: The disk was full, with a path that is not that of a temporary file.
        FileError: A text holds half of a surrogate pair, which no file holds.

    Example:
        >>> with naming("a.csv", 12):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        OSError: [Errno 28] no space is left for its 12 bytes (... free); ...: 'a.csv'
    """
    try:
        yield
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        line = f"{path}: {half} is half a character, which no file holds; take it out of the text"
        raise FileError(line) from None
    except Exception as error:
        is_named = isinstance(error, OSError) and error.filename == str(path)
        if is_named or not is_full(error):
            raise
        raise _disk_error(path, wanted) from error


def require_room(path: str | os.PathLike[str], wanted: int) -> None:
    """Refuse what the disk has no room for, before work begins.

    Args:
        path: What is to be written, a file or folder; it need not be there.
        wanted: How many bytes it takes at least.

    Raises:
        OSError: Fewer are free; as of `naming`.

    Example:
        >>> require_room("a.csv", 12)
        >>> require_room("a.csv", 10**18)
        Traceback (most recent call last):
        ...
        OSError: [Errno 28] no space is left for its 1,000,000,000,000,000,000 bytes (...'a.csv'
    """
    disk = _disk_of(path)
    if disk.total > 0 and disk.free < wanted:  # some file systems do not tell, and give zeros
        raise _disk_error(path, wanted)


def is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it came of, says that a disk is full.

    Example:
        >>> is_full(OSError(errno.ENOSPC, "No space left on device")), is_full(OSError("else"))
        (True, False)
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        is_full_database = getattr(error, "sqlite_errorcode", None) == _SQLITE_FULL
        is_told = any(words in str(error) for words in _WORDS)
        if is_full_database or is_told or getattr(error, "errno", None) in _NUMBERS:
            return True
        error = error.__cause__ or error.__context__
    return False


def _disk_error(path: str | os.PathLike[str], wanted: int | None) -> OSError:
    free = f"{_disk_of(path).free:,} are free"
    size = f" for its {wanted:,} bytes" if wanted is not None else ""
    remedy = "make room, or name another place"
    return OSError(errno.ENOSPC, f"no space is left{size} ({free}); {remedy}", str(path))


def _disk_of(path: str | os.PathLike[str]) -> Any:
    place = expanded(path).absolute()
    return shutil.disk_usage(next(path for path in (place, *place.parents) if path.exists()))
