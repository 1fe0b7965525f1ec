"""How the Hub names repositories and the content of files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_CHUNK = 1 << 20


def is_repository_id(name: str) -> bool:
    """Tell whether a name has the form `OWNER/REPOSITORY`.

    Args:
        name: Any text.

    Example:
        >>> is_repository_id("someone/pqpp-lexical"), is_repository_id("lexical")
        (True, False)
    """
    part = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
    return re.fullmatch(f"{part}/{part}", name) is not None


def content_id(path: Path, like: str) -> str:
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
    if len(like) == 64:
        digest = hashlib.sha256()
    else:
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
