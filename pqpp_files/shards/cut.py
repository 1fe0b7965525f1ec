"""Cutting an input into shards, and reading one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pqpp_files.errors import FileError
from pqpp_files.shards.files import FileShape, files_of, look_at, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 100_000
"""Rows of a shard where none is asked for."""


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

        table = rows_of(self.path, self.start, self.rows, self.span)
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
    shapes = {path: look_at(path, size) for path in files_of(source)}
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


def _common_types(shapes: Mapping[str, FileShape]) -> dict[str, pa.DataType]:
    """Return the type of each column, and refuse a file whose columns are not those of the others.

    A column without any value has no type, and may have that of the other files.
    """
    import pyarrow as pa

    common: dict[str, pa.DataType] = {}
    for path, shape in shapes.items():
        before, names = next((file, other.schema.names) for file, other in shapes.items())
        if shape.schema.names != names:
            raise FileError(
                f"{path}: columns {', '.join(shape.schema.names)[:100]}, those of {before} are "
                f"{', '.join(names)[:100]}; give files of one kind"
            )
        for column in shape.schema:
            known = common.get(column.name, pa.null())
            if pa.types.is_null(known):
                common[column.name] = column.type
            elif not pa.types.is_null(column.type) and _kind(column.type) != _kind(known):
                raise FileError(
                    f"{path}: the column {column.name} holds {column.type}, in files before it "
                    f"{known}; give files of one kind"
                )
    return common


def _kind(of: pa.DataType) -> str:
    """Return the name of a type, one for all ways to keep texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(of):
        return _kind(of.value_type)
    return "string" if pa.types.is_large_string(of) else str(of)
