"""The files that shards are cut from: how many rows, which columns, and some of the rows."""

from __future__ import annotations

import io
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.open_input import UTF_16, Input
from pqpp_files.shards.cells import text_array
from pqpp_files.table_formats import Separated

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("parquet", "arrow", "csv", "tsv", "csv.gz", "tsv.gz")
"""How the names of such files end; `arrow` is what `datasets` saves."""
_END = 1 << 18
_AT_ONCE = 16_384
Cut = tuple[int, int, tuple[int, int] | None]


@dataclass(frozen=True)
class FileShape:
    """What is known of a file before it is cut.

    Attributes:
        schema: Its columns; those of CSV hold text.
        digest: Of its size and end, where Parquet keeps what its columns hold; of all of a CSV.
        cuts: First row, number of rows, and for CSV the bytes that they are in, unpacked.
    """

    schema: pa.Schema
    digest: str
    cuts: list[Cut]


def files_of(source: str) -> list[str]:
    r"""Return the files that a source names, in the order of their names.

    Raises:
        FileError: There is none, or its file system cannot be asked.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = [(folder / name).write_text("prompt\na cat\n") for name in ("b.csv", "a.csv")]
        >>> [path.rpartition("/")[2] for path in files_of(str(folder))]
        ['a.csv', 'b.csv']
    """
    import fsspec

    try:
        file_system, path = fsspec.core.url_to_fs(source)
        if any(mark in path for mark in "*?["):
            paths = _plain(file_system.glob(path))
        elif file_system.isdir(path):
            below = f"{path.rstrip('/')}/**/*."
            of_kind = [_plain(file_system.glob(f"{below}{kind}")) for kind in KINDS]
            paths = of_kind[0] + of_kind[1] or list(chain.from_iterable(of_kind))
        else:
            paths = [path] if file_system.exists(path) else []
    except (ImportError, ValueError) as error:  # it says what to install, or that there is none
        raise FileError(f"{source}: {in_a_line(error, named=False)}") from None
    except Exception as error:  # each file system has errors of its own
        raise FileError(f"{source}: {in_a_line(error)}; check its name") from None
    if not paths:
        raise FileError(f"{source}: there is no such file; check its name")
    return [file_system.unstrip_protocol(path) for path in sorted(paths)]


def look_at(path: str, size: int) -> FileShape:
    r"""Look at a file that shall be cut.

    Args:
        path: The file.
        size: The most rows of a cut.

    Raises:
        FileError: It cannot be read, or two columns have one name.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "n.csv")
        >>> _ = path.write_text("n\n1\n2\n3\n")
        >>> shape = look_at(str(path), 2)
        >>> [(start, rows) for start, rows, _ in shape.cuts]
        [(0, 2), (2, 1)]
        >>> rows_of(str(path), *shape.cuts[1])["n"].to_pylist()
        ['3']
    """
    import pyarrow as pa
    import pyarrow.parquet

    if path.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        return _shape_of_separated(path, size)
    try:
        if path.endswith(".arrow"):
            table = _arrow(path)
            rows, schema = len(table), table.schema
        else:
            with _opened(path) as opened, pa.parquet.ParquetFile(opened) as file:
                rows, schema = file.metadata.num_rows, file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        reason = in_a_line(error, named=False)
        raise FileError(
            f"{path}: not Parquet ({reason}); shards are cut from Parquet and CSV"
        ) from None
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise FileError(f"{path}: the column {twice} stands twice; keep one of them, or rename one")
    cuts: list[Cut] = [(start, min(size, rows - start), None) for start in range(0, rows, size)]
    return FileShape(schema, _digest_of_end(path), cuts)


def rows_of(path: str, start: int, rows: int, span: tuple[int, int] | None) -> pa.Table:
    """Return some rows of a file; of Parquet only the groups of rows that they lie in are read.

    Args:
        path: The file.
        start: The first row.
        rows: How many.
        span: The bytes that they are in, for CSV.

    Raises:
        FileError: It cannot be read.
    """
    import pyarrow as pa

    try:
        if span is not None:
            return _separated_rows(path, span)
        if path.endswith(".arrow"):
            return _arrow(path).slice(start, rows)
        return _parquet_rows(path, start, rows)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path}: {in_a_line(error, named=False)}; copy it again") from None


def _plain(paths: list[str]) -> list[str]:
    """Leave out what begins so as readers of folders leave it out: what is not whole yet, say."""
    return [path for path in paths if not PurePosixPath(path).name.startswith((".", "_"))]


def _digest_of_end(path: str) -> str:
    """Return a hash of a file's size and its last bytes, the same on every machine."""
    with _opened(path) as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - _END))
        return sha256_of_parts([str(size), opened.read()])[:16]


def _parquet_rows(path: str, start: int, rows: int) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet

    with _opened(path) as opened, pa.parquet.ParquetFile(opened) as file:
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        ends = list(accumulate(sizes))
        groups = [n for n, end in enumerate(ends) if end > start and end - sizes[n] < start + rows]
        at = ends[groups[0]] - sizes[groups[0]] if groups else 0
        parts = []
        for batch in file.iter_batches(_AT_ONCE, row_groups=groups):
            first, last = max(start - at, 0), min(start + rows - at, len(batch))
            if first < last:
                parts.append(batch.slice(first, last - first))
            at += len(batch)
            if at >= start + rows:
                break
        return pa.Table.from_batches(parts, file.schema_arrow)


def _arrow(path: str) -> pa.Table:
    """Return a file of `datasets`, which stays on the disk where it is."""
    import pyarrow as pa

    file = pa.memory_map(path.removeprefix("file://"))
    return pa.ipc.open_stream(file).read_all()


def _opened(path: str) -> Any:
    import fsspec

    return closing(fsspec.open(path, "rb").open())


class _AnyPlace(Input):
    """A text file wherever it lies; what is no UTF-8 stays, and is told of the row that has it."""

    def __init__(self, path: str) -> None:
        super().__init__(path, check=False)
        self._place = path

    def open(self) -> Any:
        """See `Input.open`."""
        import fsspec

        file = fsspec.open(self._place, "rb", compression="infer").open()
        if file.read(2) in UTF_16:
            raise FileError(f"{self.name}: not UTF-8 but UTF-16; convert the file")
        file.seek(0)
        return file


def _separated(path: str) -> Separated:
    source = Separated(_AnyPlace(path), None, None)
    source.errors = "surrogateescape"
    return source


def _shape_of_separated(path: str, size: int) -> FileShape:
    import pyarrow as pa

    try:
        names, spans, digest = _separated(path).spans(size)
    except OSError as error:
        raise FileError(f"{path}: {in_a_line(error, named=False)}; copy it again") from None
    if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
        raise FileError(f"{path}, line 1: not UTF-8; convert the file")
    cuts: list[Cut] = []
    for rows, begin, end in spans:
        cuts.append((sum(cuts[-1][:2]) if cuts else 0, rows, (begin, end)))
    return FileShape(pa.schema([(name, pa.string()) for name in names]), digest[:16], cuts)


def _separated_rows(path: str, span: tuple[int, int]) -> pa.Table:
    import pyarrow as pa

    source = _separated(path)
    with source.source.open() as file:
        file.seek(span[0])
        content = file.read(span[1] - span[0])
    names, rows = source.rows_in(io.BytesIO(content))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table([text_array(cells) for cells in columns], names)
