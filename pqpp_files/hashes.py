"""Hashes of what files hold."""

import hashlib
from pathlib import Path

_CHUNK = 1 << 20


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hexadecimal digits.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty"
        >>> path.touch()
        >>> sha256_of(path)[:8]
        'e3b0c442'
    """
    return _digest(hashlib.sha256(), Path(path))


def content_id(path: str | Path, like: str) -> str:
    """Name a file's content as the Hub names it: by sha256 where `like` is one, else as git does.

    Args:
        path: The file.
        like: A name that the Hub gave.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty"
        >>> path.touch()
        >>> content_id(path, "0" * 64)[:8], content_id(path, "0" * 40)[:8]
        ('e3b0c442', 'e69de29b')
    """
    path = Path(path)
    if len(like) == 64:
        return sha256_of(path)
    header = b"blob %d\0" % path.stat().st_size
    return _digest(hashlib.sha1(header, usedforsecurity=False), path)


def _digest(digest, path: Path) -> str:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
