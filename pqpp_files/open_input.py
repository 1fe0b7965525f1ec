"""The bytes of an input that a user names: a file, packed or not, a pipe, or standard input."""

import codecs
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
from pqpp_files.write_beside import naming

_PACKED = b"\x1f\x8b"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How such text begins."""
_BINARY = (".parquet",)
_STANDARD = re.compile(r"-(\.[a-z]+)*", re.IGNORECASE)


def names_input(path: str | Path) -> bool:
    """Tell whether there is such an input: a file, a pipe, or standard input.

    Example:
        >>> names_input("-.csv"), names_input("nowhere.csv")
        (True, False)
    """
    is_standard = _STANDARD.fullmatch(str(path)) is not None
    return is_standard or (Path(path).exists() and not Path(path).is_dir())


class Input:
    """Bytes that can be read as often as is needed.

    What can be read only once, a pipe or standard input, is copied to a temporary file, which goes
    away with this object. What gzip packed is unpacked. Text in another encoding than UTF-8 is
    given as UTF-8: UTF-16 that begins with its mark, and what `encoding` says.

    Args:
        path: The file; `-` is standard input, and `-.csv` is standard input in that format.
        check: Whether to `check` at once.
        encoding: Of the text, as Python calls it, where the caller has an option of that name.

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

    def __init__(self, path: str | Path, check: bool = True, encoding: str | None = None) -> None:
        self.is_standard = _STANDARD.fullmatch(str(path)) is not None
        self.name = "standard input" if self.is_standard else str(path)
        # The suffix of "-.csv" is that of a file called so.
        last = Path("x" + str(path)[1:] if self.is_standard else path).name.lower()
        self.suffix = Path(last.removesuffix(".gz")).suffix
        self._path = Path(path)
        self._encoding = encoding
        self._is_utf_8 = self.suffix in _BINARY
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

    def open(self) -> io.BufferedReader | gzip.GzipFile:
        """Return the bytes from the first on."""
        if self._once is None and not self.is_standard and not self._path.is_file():
            self._once = self._path.open("rb")
        if self._once is not None:
            self._path, self._once = self._copied(self._once), None
        if not self._is_utf_8:
            with self._unpacked() as file:
                encoding = "utf-16" if file.read(2) in UTF_16 else self._encoding or "utf-8"
            if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig", "ascii"):
                with self._unpacked() as file:
                    content = file.read()
                try:
                    text = content.decode(encoding)
                except UnicodeError as error:
                    start = getattr(error, "start", 0)  # not every codec says where
                    line = content[:start].decode(encoding, "ignore").count("\n") + 1
                    raise FileError(
                        f"{self.name}, line {line}: not {encoding} ({error!s:.100}); {self.remedy}"
                    ) from None
                self._path = self._copied(io.BytesIO(text.encode("utf-8", "surrogatepass")))
            self._is_utf_8 = True
        return self._unpacked()

    def _unpacked(self) -> io.BufferedReader | gzip.GzipFile:
        with self._path.open("rb") as file:
            is_packed = file.read(2) == _PACKED
        return gzip.open(self._path, "rb") if is_packed else self._path.open("rb")

    @property
    def remedy(self) -> str:
        """What to do about text that cannot be read."""
        if self._encoding is None:
            return "convert the file"
        return "name its encoding by --encoding, like latin-1 or utf-16"

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

    def _copied(self, file: BinaryIO) -> Path:
        folder = tempfile.mkdtemp(prefix="pqpp-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        with naming(folder), Path(folder, "input").open("wb") as copy:
            shutil.copyfileobj(file, copy)
        return Path(folder, "input")


class InputInMemory(Input):
    """A text that is here already and touches no disk, as an input.

    Args:
        text: What would stand in the file.
        name: What messages call it.
        suffix: The end of a name that would tell the format.

    Example:
        >>> InputInMemory("a,b", "the table", ".csv").read()
        b'a,b'
    """

    def __init__(self, text: str, name: str, suffix: str) -> None:
        self.is_standard, self.name, self.suffix = False, name, suffix
        self._data = text.encode("utf-8")

    def check(self) -> None:
        """Be there."""

    def open(self) -> io.BufferedReader:
        """Return the bytes from the first on."""
        return io.BufferedReader(io.BytesIO(self._data))
