"""Reading and writing files so that nothing half-written is ever found."""

import contextlib
import hashlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hexadecimal digits.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty"
        >>> path.touch()
        >>> sha256_of(path)[:8]
        'e3b0c442'
    """
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _new_file_beside(path: Path) -> Path:
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:  # name the file that was asked for, not the temporary one
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    return Path(name)


@contextlib.contextmanager
def tidied_when_terminated() -> Iterator[None]:
    """Let SIGTERM end a block as an exception does, so that what is half-written goes away.

    For a command of its own: where another handler is set, or outside the main thread, nothing
    changes.

    Example:
        >>> with tidied_when_terminated():
        ...     signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        False
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    # The status that a shell gives to a process that the signal has ended.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder and rename it to `path` when all went well.

    An interrupted writer leaves the old file or the new one, never half of one.

    Example:
        >>> import pathlib, tempfile
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> with written_beside(target) as beside:
        ...     _ = beside.write_text("whole")
        >>> target.read_text()
        'whole'
    """
    path = Path(path)
    path = path.resolve() if path.is_symlink() else path  # the link stays, its target changes
    if path.exists() and not path.is_file():
        yield path  # a pipe or a device can't be replaced, only written to
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _new_file_beside(path)
    try:
        yield beside
        # mkstemp makes private files; what is written here is meant to be read like any other.
        umask = os.umask(0)
        os.umask(umask)
        beside.chmod(0o666 & ~umask)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
