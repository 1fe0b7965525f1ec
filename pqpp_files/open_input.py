"""The bytes of an input that a user names: a file, packed or not, a pipe, or standard input."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pqpp_files.errors import FileError
from pqpp_files.full_disk import naming

_PACKED = b"\x1f\x8b"
_STANDARD = re.compile(r"-(\.[a-z]+)*", re.IGNORECASE)


def names_input(path: str | Path) -> bool:
    """Tell whether there is such an input: a file, a pipe, or standard input."""
    is_standard = _STANDARD.fullmatch(str(path)) is not None
    return is_standard or (Path(path).exists() and not Path(path).is_dir())


class Input:
    """Bytes that can be read as often as is needed.

    What can be read only once, a pipe or standard input, is copied to a temporary file, which goes
    away with this object. What gzip packed is unpacked.

    Args:
        path: The file; `-` is standard input, and `-.csv` is standard input in that format.
        check: Whether to `check` at once.

    Attributes:
        name: What messages call it.
        suffix: The end of the name that tells the format, small, without `.gz`.

    Raises:
        FileError: There is no such file, or it is a folder.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "run.trec.gz"
        >>> _ = path.write_bytes(gzip.compress(b"q Q0 d 1 2 t"))
        >>> Input(path).suffix, Input(path).read()
        ('.trec', b'q Q0 d 1 2 t')
    """

    def __init__(self, path: str | Path, check: bool = True) -> None:
        self.is_standard = _STANDARD.fullmatch(str(path)) is not None
        self.name = "standard input" if self.is_standard else str(path)
        # The suffix of "-.csv" is that of a file called so.
        last = Path("x" + str(path)[1:] if self.is_standard else path).name.lower()
        self.suffix = Path(last.removesuffix(".gz")).suffix
        self._is_packed = last.endswith(".gz")
        self._path = Path(path)
        self._once: BinaryIO | None = None
        if self.is_standard:
            self._once = getattr(sys.stdin, "buffer", None)  # no text: it knows no encoding
            if self._once is None:
                raise FileError(f"{self.name}: it is closed; pipe a file in, or name one")
        if check:
            self.check()

    def check(self) -> None:
        """Raise a `FileError` unless there is such a file."""
        if not self.is_standard and self._path.is_dir():
            raise FileError(f"{self.name}: this is a folder; give a file")
        if not self.is_standard and not self._path.exists():
            raise FileError(f"{self.name}: there is no such file; check its name")

    def open(self) -> io.BufferedIOBase:
        """Return the bytes from the first on."""
        if self._once is None and not self.is_standard and not self._path.is_file():
            self._once = self._path.open("rb")
        if self._once is not None:
            self._path, self._once = self._copied(self._once), None
        if not self._is_packed:
            file = self._path.open("rb")
            if file.peek(2)[:2] != _PACKED:
                return file
            file.close()
        return gzip.open(self._path, "rb")

    def read(self) -> bytes:
        """Return all bytes.

        Raises:
            FileError: It is damaged.
        """
        with self.explained(), self.open() as file:
            return file.read()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what is wrong with a packed file into one line."""
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileError(f"{self.name}: a damaged gzip file ({error}); copy it again") from None

    def _copied(self, stream: BinaryIO) -> Path:
        folder = tempfile.mkdtemp(prefix="pqpp-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        copy = Path(folder, "input")
        with naming(tempfile.gettempdir()), copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
        return copy
