"""Naming the file that a full disk could not take."""

import contextlib
import errno
import os
from collections.abc import Iterator

from pqpp_files.errors import FileError

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE_FULL = 13


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name what a block was writing when the disk was full; other errors pass.

    Args:
        path: What was to be written, a file or folder.

    Raises:
        OSError: The disk was full, with a path that is not that of a temporary file.
        FileError: A text holds half of a surrogate pair, which no file holds.

    Example:
        >>> with naming("a.csv"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        OSError: [Errno 28] no space is left; make room, or name another place: 'a.csv'
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
        remedy = "no space is left; make room, or name another place"
        raise OSError(errno.ENOSPC, remedy, str(path)) from error


def is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it came of, says that a disk is full.

    Example:
        >>> is_full(OSError(errno.ENOSPC, "No space left on device")), is_full(OSError("else"))
        (True, False)
    """
    seen: list[BaseException] = []  # an error may come of one that came of it
    while error is not None and error not in seen:
        seen.append(error)
        number = getattr(error, "errno", None)
        if number in _NUMBERS or getattr(error, "sqlite_errorcode", None) == _SQLITE_FULL:
            return True
        error = error.__cause__ or error.__context__
    return False
