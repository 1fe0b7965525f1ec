"""Cutting an input into shards, and reading one of them."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate, chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.open_input import UTF_16, Input
from pqpp_files.shards.cells import text_array
from pqpp_files.table_formats import Separated

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 100_000
"""Rows of a shard where none is asked for."""
KINDS = ("parquet", "arrow", "csv", "tsv", "csv.gz", "tsv.gz")
"""How the names of such files end; `arrow` is what `datasets` saves."""
_END = 1 << 18
Cut = tuple[int, int, tuple[int, int] | None]


@dataclass(frozen=True)
class Shard:
    """Some rows of an input file, and the name of the file that is made from them.

    Attributes:
        name: Of the output, like `part-00003-of-00012.parquet`.
        path: The input: Parquet, CSV, or Arrow as `datasets` saves it; also with `hf://` before.
        start: The first row.
        rows: How many.
        digest: Of the input's size and end, where Parquet keeps what its columns hold; of all of a
            CSV.
        first: The first row's number among those of all files.
        numbered: A column that gets these numbers, as text; empty for none.
        span: The bytes of a CSV that the rows are in.
        types: Columns that other files keep otherwise, and how: the output is of one kind.
    """

    name: str
    path: str
    start: int
    rows: int
    digest: str = ""
    first: int = 0
    numbered: str = ""
    span: tuple[int, int] | None = None
    types: tuple[tuple[str, pa.DataType], ...] = ()

    def read(self) -> pa.Table:
        """Return the rows.

        Raises:
            FileError: The file is damaged, or is no longer what it was.
        """
        import pyarrow as pa

        table = _rows_of(self.path, self.start, self.rows, self.span)
        if len(table) != self.rows:
            raise FileError(
                f"{self.path}: {self.start + len(table)} rows, there were {self.start + self.rows} "
                "or more when the job began; begin in a new folder"
            )
        for name, kind in self.types:
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].cast(kind))
        if self.numbered:
            numbers = map(str, range(self.first, self.first + self.rows))
            table = table.append_column(self.numbered, pa.array(numbers, pa.string()))
        return table

    def told(self) -> dict[str, str | int]:
        """Return what it is made from, the same on all machines, where paths may differ."""
        file = self.path.rpartition("/")[2]
        of: dict[str, str | int] = {"name": self.name, "start": self.start, "rows": self.rows}
        return of | {"digest": self.digest, "path": file}


@dataclass(frozen=True)
class HeldShard:
    """Rows that are in memory, and the name of the file that is made from them.

    Attributes:
        name: Of the output.
        table: The rows.
    """

    name: str
    table: pa.Table = field(repr=False)

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.table)

    def read(self) -> pa.Table:
        """Return the rows."""
        return self.table

    def told(self) -> dict[str, str | int]:
        """Return what it is made from."""
        return {"name": self.name, "rows": self.rows}


def find_shards(source: str, size: int | None = None, numbered: Sequence[str] = ()) -> list[Shard]:
    """Cut an input into shards; the same input gives the same shards wherever it is asked.

    Args:
        source: A file in Parquet or CSV (`.csv`, `.tsv`, also packed, `.gz`), a pattern such as
            `prompts/*.parquet`, a folder of such files or one that `datasets` has saved; also with
            `hf://` before. The cells of CSV are text.
        size: The most rows of a shard, 100,000 if left out; no shard spans two files.
        numbered: Columns that may name rows; where the input has none of them the first one is
            there and has their numbers.

    Returns:
        The shards, in the order of the files' names.

    Raises:
        FileError: There is no such file, one cannot be read, or their columns differ.

    Example:
        >>> import pathlib, pyarrow as pa, pyarrow.parquet, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "prompts.parquet")
        >>> pa.parquet.write_table(pa.table({"prompt": ["a", "b", "c"]}), path)
        >>> [(shard.name, shard.start, shard.rows) for shard in find_shards(str(path), 2)]
        [('part-00000-of-00002.parquet', 0, 2), ('part-00001-of-00002.parquet', 2, 1)]
    """
    size = SIZE if size is None else size
    if size < 1:
        raise FileError(f"shard size {size}: give 1 or more")
    shapes = {path: _look_at(path, size) for path in _files_of(source)}
    common = _common_types(shapes)
    cuts, first = [], 0
    for path, shape in shapes.items():
        columns = {column.name: column.type for column in shape.schema}
        types = tuple((name, common[name]) for name in columns if columns[name] != common[name])
        is_named = not numbered or not columns.keys().isdisjoint(numbered)
        for start, rows, span in shape.cuts:
            number = "" if is_named else numbered[0]
            cuts.append((path, start, rows, shape.digest, first, number, span, types))
            first += rows
    if not cuts:
        raise FileError(f"{source}: no rows; give a file that has some")
    return [Shard(name, *cut) for name, cut in zip(names_of_parts(len(cuts)), cuts, strict=True)]


def hold_shards(table: pa.Table, size: int) -> list[HeldShard]:
    """Cut rows that are in memory into shards.

    Raises:
        FileError: `size` is below 1.

    Example:
        >>> import pyarrow as pa
        >>> [shard.rows for shard in hold_shards(pa.table({"n": [1, 2, 3]}), 2)]
        [2, 1]
    """
    if size < 1:
        raise FileError(f"{size} rows a shard; give 1 or more")
    step = min(size, max(1, len(table)))
    parts = [table.slice(start, step) for start in range(0, len(table), step)]
    return list(map(HeldShard, names_of_parts(len(parts)), parts))


def names_of_parts(count: int) -> list[str]:
    """Return the names of the files of a job, as `datasets` names shards.

    Example:
        >>> names_of_parts(1)
        ['part-00000-of-00001.parquet']
    """
    width = max(5, len(str(count)))  # so that they are in order by name
    return [f"part-{n:0{width}}-of-{count:0{width}}.parquet" for n in range(count)]


AnyShard = TypeVar("AnyShard", Shard, HeldShard)


def share_of(shards: Sequence[AnyShard], share: str | None) -> list[AnyShard]:
    """Return the shards of one worker of several.

    Args:
        shards: All of them.
        share: `I/N`, with I from 0 to N - 1, as Slurm's SLURM_ARRAY_TASK_ID and Kubernetes'
            JOB_COMPLETION_INDEX count; all shards if None.

    Raises:
        FileError: It is no such share.

    Example:
        >>> share_of([Shard(str(n), "", 0, 1) for n in range(5)], "1/2")[0].name
        '1'
    """
    first, step = parts_of_share(share)
    return list(shards[first::step])


def parts_of_share(share: str | None) -> tuple[int, int]:
    """Return I and N of a share `I/N`; of no share 0 and 1, which is all.

    Raises:
        FileError: It is no such share.

    Example:
        >>> parts_of_share("1/4"), parts_of_share(None)
        ((1, 4), (0, 1))
    """
    if share is None:
        return 0, 1
    parts = re.fullmatch(r"(\d{1,9})/(\d{1,9})", share)
    if not parts or int(parts[1]) >= int(parts[2]):
        raise FileError(f"shard {share!r}: write I/N with I from 0 to N - 1, like 0/4")
    return int(parts[1]), int(parts[2])


def launched_share(environment: Mapping[str, str]) -> str | None:
    """Return the share of this process where `accelerate launch` has started several.

    Example:
        >>> launched_share({"RANK": "1", "WORLD_SIZE": "4"}), launched_share({})
        ('1/4', None)
    """
    rank, size = environment.get("RANK"), environment.get("WORLD_SIZE")
    return f"{rank}/{size}" if rank and size else None


def _common_types(shapes: Mapping[str, _FileShape]) -> dict[str, pa.DataType]:
    """Return the type of each column, and refuse a file whose columns are not those of the others.

    A column without any value has no type, and may have that of the other files.
    """
    import pyarrow as pa

    first, shape = next(iter(shapes.items()))
    common = pa.schema([one.with_type(_plain_type(one.type)) for one in shape.schema])
    for path, shape in shapes.items():
        if shape.schema.names != common.names:
            raise FileError(
                f"{path}: columns {', '.join(shape.schema.names)[:100]}, those of {first} are "
                f"{', '.join(common.names)[:100]}; give files of one kind"
            )
        plain = [column.with_type(_plain_type(column.type)) for column in shape.schema]
        try:
            common = pa.unify_schemas([common, pa.schema(plain)], promote_options="permissive")
        except pa.ArrowException as error:
            reason = in_a_line(error, named=False)
            raise FileError(f"{path}: {reason}; give files of one kind") from None
    return dict(zip(common.names, common.types, strict=True))


def _plain_type(of: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return of.value_type if pa.types.is_dictionary(of) else of


@dataclass(frozen=True)
class _FileShape:
    """What is known of a file before it is cut.

    Attributes:
        schema: Its columns; those of CSV hold text.
        digest: Of its size and end, where Parquet keeps what its columns hold; of all of a CSV.
        cuts: First row, number of rows, and for CSV the bytes that they are in, unpacked.
    """

    schema: pa.Schema
    digest: str
    cuts: list[Cut]


def _files_of(source: str) -> list[str]:
    r"""Return the files that a source names, in the order of their names.

    Raises:
        FileError: There is none, or its file system cannot be asked.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = [(folder / name).write_text("prompt\na cat\n") for name in ("b.csv", "a.csv")]
        >>> [path.rpartition("/")[2] for path in _files_of(str(folder))]
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


def _look_at(path: str, size: int) -> _FileShape:
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
        >>> shape = _look_at(str(path), 2)
        >>> [(start, rows) for start, rows, _ in shape.cuts]
        [(0, 2), (2, 1)]
        >>> _rows_of(str(path), *shape.cuts[1])["n"].to_pylist()
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
    return _FileShape(schema, _digest_of_end(path), cuts)


def _rows_of(path: str, start: int, rows: int, span: tuple[int, int] | None) -> pa.Table:
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
        before = ends[groups[0]] - sizes[groups[0]] if groups else 0
        return file.read_row_groups(groups).slice(start - before, rows)


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


def _shape_of_separated(path: str, size: int) -> _FileShape:
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
    return _FileShape(pa.schema([(name, pa.string()) for name in names]), digest[:16], cuts)


def _separated_rows(path: str, span: tuple[int, int]) -> pa.Table:
    import pyarrow as pa

    source = _separated(path)
    with source.source.open() as file:
        file.seek(span[0])
        content = file.read(span[1] - span[0])
    names, rows = source.rows_in(io.BytesIO(content))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table([text_array(cells) for cells in columns], names)
