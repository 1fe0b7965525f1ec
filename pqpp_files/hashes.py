"""Hashes: of files, of what is in memory, and as the Hub names content."""

import hashlib
from collections.abc import Iterable
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


def sha256_of_parts(parts: Iterable[str | bytes]) -> str:
    """Return the SHA-256 of some parts, one after another; texts count as UTF-8.

    Example:
        >>> sha256_of_parts(["a", b"b"]) == sha256_of_parts(["ab"])
        True
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
    return digest.hexdigest()


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


def _digest(digest: "hashlib._Hash", path: Path) -> str:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
