"""Hashes of files and of data in memory."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def hash_file(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hexadecimal digits.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty"
        >>> path.touch()
        >>> hash_file(path)[:8]
        'e3b0c442'
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_parts(parts: Iterable[str | bytes]) -> str:
    """Return the SHA-256 of concatenated parts, in hexadecimal; strings are encoded as UTF-8.

    Example:
        >>> hash_parts(["a", b"b"]) == hash_parts(["ab"])
        True
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
    return digest.hexdigest()
