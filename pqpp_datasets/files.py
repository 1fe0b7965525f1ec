"""Reading and writing files so that nothing half-written is ever found."""

import contextlib
import hashlib
import os
import tempfile
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
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        # mkstemp makes private files; what is written here is meant to be read like any other.
        umask = os.umask(0)
        os.umask(umask)
        beside.chmod(0o666 & ~umask)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
