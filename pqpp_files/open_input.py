"""The bytes of an input that a user names: a file, packed or not, a pipe, or standard input."""

import codecs
import contextlib
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pqpp_files.errors import FileError

_PACKED = b"\x1f\x8b"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How such text begins."""
_MOST = 1 << 30
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

    What can be read only once, a pipe or standard input, is held in memory, at most a gibibyte.
    What gzip packed is unpacked. Text in another encoding than UTF-8 is given as UTF-8: UTF-16 that
    begins with its mark, and what `encoding` says.

    Args:
        path: The file; `-` is standard input, and `-.csv` is standard input in that format.
        check: Whether to `check` at once.
        encoding: Of the text, as Python calls it, where the caller has an option of that name.
        standard: What is read as standard input, in place of it.

    Attributes:
        name: What messages call it.
        suffix: The end of the name that tells the format, small, without `.gz`.
        remedy: What to do about text that cannot be read.

    Raises:
        FileError: There is no such file, or it is a folder.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "run.trec.gz"
        >>> _ = path.write_bytes(gzip.compress(b"q Q0 d 1 2 t"))
        >>> Input(path).suffix, Input(path).read()
        ('.trec', b'q Q0 d 1 2 t')
    """

    def __init__(
        self,
        path: str | Path,
        check: bool = True,
        encoding: str | None = None,
        standard: BinaryIO | None = None,
    ) -> None:
        self.is_standard = _STANDARD.fullmatch(str(path)) is not None
        self.name = "standard input" if self.is_standard else str(path)
        # The suffix of "-.csv" is that of a file called so.
        last = Path("x" + str(path)[1:] if self.is_standard else path).name.lower()
        self.suffix = Path(last.removesuffix(".gz")).suffix
        self._path = Path(path)
        self._encoding = encoding
        by_name = "name its encoding, which is --encoding cp1252 where Excel wrote it"
        self.remedy = "convert the file" if encoding is None else by_name
        self._is_utf_8 = self.suffix in (".parquet", ".xlsx", ".dta")
        self._data: bytes | None = None  # of what can be read only once, or was in another encoding
        self._standard: Any = standard or getattr(sys.stdin, "buffer", None)  # text has no encoding
        if self.is_standard and self._standard is None:
            raise FileError(f"{self.name}: it is closed; pipe a file in, or name one")
        if check:
            self.check()

    def check(self) -> None:
        """Raise a `FileError` unless there is such a file."""
        if not self.is_standard and self._path.is_dir():
            raise FileError(f"{self.name}: this is a folder; give a file")
        if not self.is_standard and not self._path.exists():
            raise FileError(f"{self.name}: no such file; check its name")

    def open(self) -> Any:
        """Return the bytes from the first on."""
        if self._data is None and self.is_standard:
            self._data = self._standard.read(_MOST + 1)
        elif self._data is None and not self._path.is_file():
            with self._path.open("rb") as pipe:
                self._data = pipe.read(_MOST + 1)
        if len(self._data or b"") > _MOST:
            raise FileError(
                f"{self.name}: more than {_MOST:,} bytes; give a file instead of a pipe"
            )
        if not self._is_utf_8:
            with self._unpacked() as file:
                first = file.read(2)
            encoding = "utf-16" if first in UTF_16 else self._encoding or "utf-8"
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
                self._data = text.encode("utf-8", "surrogatepass")
            elif b"\0" in first:
                raise FileError(f"{self.name}, line 1: UTF-16 without its mark; {self.remedy}")
            self._is_utf_8 = True
        return self._unpacked()

    def _unpacked(self) -> Any:
        file: Any = self._path.open("rb") if self._data is None else io.BytesIO(self._data)
        is_packed = file.read(2) == _PACKED
        file.seek(0)
        if not is_packed:
            return file
        packed = gzip.GzipFile(fileobj=file)
        packed.myfileobj = file  # which is closed with it
        return packed

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
