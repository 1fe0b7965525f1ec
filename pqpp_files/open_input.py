"""The bytes of an input that a user names: a file, packed or not, a pipe, or standard input."""

import gzip
import sys
import zlib
from pathlib import Path

from pqpp_files.errors import FileError

_PACKED = b"\x1f\x8b"


def whole_input(path: str | Path) -> bytes:
    """Return all bytes of an input, unpacked where they are gzip's; `-` is standard input.

    Raises:
        FileError: There is no such file, it is a folder, or it is damaged.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "run.trec.gz"
        >>> _ = path.write_bytes(gzip.compress(b"q Q0 d 1 2 t"))
        >>> whole_input(path)
        b'q Q0 d 1 2 t'
    """
    name = input_name(path)
    if str(path) == "-":
        content = sys.stdin.buffer.read()
    else:
        require_input(Path(path))
        content = Path(path).read_bytes()
    if not content.startswith(_PACKED):
        if str(path).lower().endswith(".gz"):
            raise FileError(f"{name}: a damaged gzip file (it is not packed); copy it again")
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileError(f"{name}: a damaged gzip file ({error}); copy it again") from None


def input_name(path: str | Path) -> str:
    """Return what messages call an input."""
    return "standard input" if str(path) == "-" else str(path)


def require_input(path: Path) -> None:
    """Raise a `FileError` unless there is such a file."""
    if path.is_dir():
        raise FileError(f"{path}: this is a folder; give a file")
    if not path.exists():
        raise FileError(f"{path}: there is no such file; check its name")
