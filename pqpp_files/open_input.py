"""Read the bytes of a file, of a pipe or of standard input, with or without gzip."""

import codecs
import gzip
import io
import os
import re
import sys
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from pqpp_files.errors import FileError, reraise
from pqpp_files.foreign.json_values import read_json
from pqpp_files.foreign.packed import check_parquet, check_size, read_limited
from pqpp_files.paths import join_inside, refuse_pipe

_GZIP_MAGIC = b"\x1f\x8b"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16."""
_MAX_UNPACKED, _MIN_LIMIT, _RATIO = 1 << 30, 1 << 26, 100
_BINARY = (".parquet", ".xlsx")
MANIFEST = "_shards.json"  # readers of folders skip names with an underscore
"""The file that a job in shards writes next to its outputs."""
_STDIN = re.compile(r"-(\.[a-z]+)*", re.IGNORECASE)


def is_input(path: str | Path) -> bool:
    """Return whether a path is an existing file or pipe, or names standard input.

    Example:
        >>> is_input("-.csv"), is_input("nowhere.csv")
        (True, False)
    """
    return bool(_STDIN.fullmatch(str(path))) or (Path(path).exists() and not Path(path).is_dir())


def is_sharded(path: str | Path) -> bool:
    """Return whether a path is a folder that a job has written in shards."""
    return (Path(path) / MANIFEST).is_file()


def find_suffix(path: str | Path) -> str:
    """Return the ending of a file's name that defines its format, in lower case, without `.gz`.

    Example:
        >>> find_suffix("Votes.CSV.gz"), find_suffix("votes")
        ('.csv', '')
    """
    if is_sharded(path):
        return ".parquet"
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix


def list_shards(folder: str | Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the settings of a finished job, and the files of its shards in order.

    Raises:
        FileError: Shards are missing, or the manifest is damaged.
    """
    try:
        manifest = read_json(join_inside(folder, MANIFEST))
        settings, shards = dict(manifest["settings"]), manifest["shards"]
        paths = [join_inside(folder, shard["name"]) for shard in shards]
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{folder}/{MANIFEST} is damaged; write the folder again") from None
    if missing := [path.name for path in paths if not path.is_file()]:
        fault = f"{folder} has only {len(paths) - len(missing)} of {len(paths)} shards"
        raise FileError(f"{fault}; run the command that writes it again")
    return settings, paths


def _join_shards(folder: Path) -> bytes:
    """Return the rows of all shards as one Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    buffer, tables, size, paths = io.BytesIO(), [], 0, list_shards(folder)[1]
    limit = get_max_bytes(sum(path.stat().st_size for path in paths))
    with reraise(f"{folder} is damaged", "write the folder again"):
        for path in paths:
            check_parquet(path, pa.parquet.read_schema(path).names, str(path), limit)
            tables.append(pa.parquet.read_table(path, partitioning=None))
            size += tables[-1].nbytes
            check_size(size, str(folder), limit)
        pa.parquet.write_table(pa.concat_tables(tables, promote_options="permissive"), buffer)
    return buffer.getvalue()


class Input:
    """A byte input that can be read repeatedly; a folder written in shards is one Parquet table.

    Pipes, standard input and gzip files are read into memory, up to `get_max_bytes`. UTF-16 with a
    byte order mark and text in `encoding` are converted to UTF-8.

    Args:
        path: The file; `-` is standard input, and `-.csv` is standard input in that format.
        encoding: The text's encoding, by Python's name, if the caller has such an option.
        standard: A stream to read instead of standard input.

    Attributes:
        name: The input's name in messages.
        suffix: The ending of the name that defines the format, in lower case, without `.gz`.
        remedy: The fix for text in another encoding, for errors.

    Raises:
        FileError: The file does not exist or is a folder, or standard input is closed.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "run.trec.gz"
        >>> _ = path.write_bytes(gzip.compress(b"q Q0 d 1 2 t"))
        >>> Input(path).suffix, Input(path).read()
        ('.trec', b'q Q0 d 1 2 t')
    """

    def __init__(
        self, path: str | Path, encoding: str | None = None, standard: BinaryIO | None = None
    ) -> None:
        self.is_standard = _STDIN.fullmatch(str(path)) is not None
        self.name = "standard input" if self.is_standard else str(path)
        # "-.csv" has the suffix of a CSV file.
        self.suffix = find_suffix("x" + str(path)[1:] if self.is_standard else path)
        self._path, self._encoding = Path(path), encoding
        set_encoding = "set its encoding; for files from Excel, `encoding` cp1252"
        convert = "save it as UTF-8 (in Excel: CSV UTF-8), or run: iconv -f cp1252 -t utf-8 FILE"
        self.remedy = set_encoding if encoding else convert
        self._standard: Any = standard or getattr(sys.stdin, "buffer", None)  # text has no encoding
        if self.is_standard and self._standard is None:
            raise FileError(f"{self.name} is closed; use a file")
        self.require_file()

    def require_file(self) -> None:
        """Raise a `FileError` if the file does not exist, or is a folder or a named pipe."""
        if not self.is_standard and self._path.is_dir() and not is_sharded(self._path):
            raise FileError(f"{self.name} is a folder; use a file")
        if not self.is_standard and not self._path.exists():
            raise FileError(f"{self.name}: no such file; check its name")
        refuse_pipe(self._path)

    def get_limit(self) -> int:
        """Return the number of bytes that this input may unpack to; see `get_max_bytes`."""
        return get_max_bytes(self._path.stat().st_size if self._data is None else len(self._data))

    def open(self) -> Any:
        """Return the bytes as a file object.

        Raises:
            FileError: The bytes are damaged, too many, or in another encoding.
        """
        return self._path.open("rb") if self._data is None else io.BytesIO(self._data)

    @cached_property
    def _data(self) -> bytes | None:
        """The bytes of a pipe, a gzip file or text in another encoding; None for other files."""

        def read_bounded(file: Any, limit: int) -> bytes:
            content = read_limited(file, limit)
            check_size(len(content), self.name, limit)
            return content

        if self._path.is_dir():
            return _join_shards(self._path)
        data = None
        if self.is_standard:
            data = read_bounded(self._standard, get_max_bytes(_MAX_UNPACKED))
        elif not self._path.is_file():
            with self._path.open("rb") as pipe:
                data = read_bounded(pipe, get_max_bytes(_MAX_UNPACKED))
        with self._path.open("rb") if data is None else io.BytesIO(data) as file:
            magic, size = file.read(2), file.seek(0, 2)
            file.seek(0)
            if magic == _GZIP_MAGIC:
                with reraise(f"{self.name} is a damaged gzip file", "copy the file again"):
                    data = read_bounded(gzip.GzipFile(fileobj=file), limit := get_max_bytes(size))
                # "a\n" is 2 bytes, and "[]," is 3, but a row or a list takes over 32.
                marks = b"\r\n," if self.suffix.startswith(".json") else b"\r\n"
                check_size(32 * sum(data.count(mark) for mark in marks), self.name, limit)
                magic = data[:2]
        encoding = "utf-16" if magic in UTF_16 else self._encoding or "utf-8"
        is_utf_8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")
        if self.suffix in _BINARY or (is_utf_8 and b"\0" not in magic):
            return data
        if is_utf_8:
            raise FileError(f"{self.name} is probably UTF-16; save it as UTF-8")
        data = self._path.read_bytes() if data is None else data
        try:
            return data.decode(encoding).encode("utf-8", "surrogatepass")
        except UnicodeError as error:
            # Not every codec gives the position.
            line = data[: getattr(error, "start", 0)].decode(encoding, "ignore").count("\n") + 1
            raise FileError(f"{self.name}, line {line}: not {encoding}; {self.remedy}") from None

    def read(self) -> bytes:
        """Return all bytes; see `open` for errors."""
        with self.open() as file:
            return file.read()


def get_max_bytes(packed: int) -> int:
    """Return the number of bytes that an input of `packed` bytes may unpack to.

    This is a hundred times its size, limited to between 64 MiB and 1 GiB, but never less than its
    size. The environment variable PQPP_MAX_BYTES, which `--max-bytes` sets, overrides the limit.

    Raises:
        FileError: The variable is not a number.

    Example:
        >>> get_max_bytes(10), get_max_bytes(10**6), get_max_bytes(10**9)
        (67108864, 100000000, 1073741824)
    """
    value = os.environ.get("PQPP_MAX_BYTES", "")
    if value and not value.isdecimal():
        raise FileError(f"PQPP_MAX_BYTES is {value!r:.60}; it must be a number of bytes")
    return int(value or max(packed, min(_MAX_UNPACKED, max(_MIN_LIMIT, _RATIO * packed))))
