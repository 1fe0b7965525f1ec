"""Cut an input into shards, and read them."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet

from pqpp_files.errors import FileError, reraise
from pqpp_files.foreign.packed import check_parquet
from pqpp_files.hashes import hash_parts
from pqpp_files.open_input import Input, get_max_bytes
from pqpp_files.paths import join_inside
from pqpp_files.table_formats import SeparatedValues

KINDS = ("parquet", "csv", "tsv", "csv.gz", "tsv.gz")
"""The endings of input files."""
_TAIL = 1 << 18


@dataclass(frozen=True)
class Shard:
    """A range of rows of an input, and the name of their output.

    Attributes:
        name: Name of the output, like `part-00003-of-00012.parquet`.
        path: Path or fsspec URL of the Parquet or CSV input; empty for rows in memory.
        start: Index of the first row in the file.
        digest: Hash of the size and the end of a Parquet file, or of a whole CSV file.
        first: Index of the first row across all files.
        numbered: Name of a column to add, of row numbers across all files; empty for none.
        schema: Common schema of all files.
        table: The rows in memory, or None.
    """

    name: str
    path: str
    start: int
    rows: int
    digest: str = ""
    first: int = 0
    numbered: str = ""
    schema: pa.Schema | None = field(default=None, repr=False)
    table: pa.Table | None = field(default=None, repr=False)

    def read(self) -> pa.Table:
        """Return the rows, with the common column types and the column `numbered`, if any.

        Raises:
            FileError: The file is damaged, or has another number of rows than before.
        """
        if self.table is not None:
            return self.table
        with reraise(f"{self.path} cannot be read", "copy it again"):
            table = _read_rows(self.path, self.start, self.rows)
        changed = f"{self.path} has changed since the job began"
        if len(table) != self.rows:
            raise FileError(f"{changed}; start a new job")
        if self.schema is not None and table.schema.types != self.schema.types:
            with reraise(changed, "start a new job"):
                table = table.cast(self.schema.with_metadata(table.schema.metadata))
        if self.numbered:
            numbers = map(str, range(self.first, self.first + self.rows))
            table = table.append_column(self.numbered, pa.array(numbers, pa.string()))
        return table

    def as_dict(self) -> dict[str, str | int]:
        """Return the fields that identify the shard in the manifest, equal on all machines."""
        fields = {name: getattr(self, name) for name in ("name", "start", "rows", "digest")}
        return {**fields, "path": self.path.rpartition("/")[2]}


def find_shards(source: str, size: int = 100_000, numbered: Sequence[str] = ()) -> list[Shard]:
    """Return the shards of an input, the same ones on every machine.

    Args:
        source: A Parquet or CSV file (`.csv`, `.tsv`, also `.gz`), a pattern such as
            `prompts/*.parquet`, or a folder of such files; or its fsspec URL. CSV cells are text.
        size: Maximum number of rows per shard; no shard spans two files.
        numbered: Columns that may identify rows; if the input has none of them, the first one is
            added, with row numbers as text.

    Returns:
        The shards, in the order of the files' names.

    Raises:
        FileError: There is no file or no row, a file cannot be read, or columns differ.

    Example:
        >>> import pathlib, pyarrow as pa, pyarrow.parquet, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "prompts.parquet")
        >>> pa.parquet.write_table(pa.table({"prompt": ["a", "b", "c"]}), path)
        >>> [(shard.name, shard.start, shard.rows) for shard in find_shards(str(path), 2)]
        [('part-00000-of-00002.parquet', 0, 2), ('part-00001-of-00002.parquet', 2, 1)]
    """
    shapes = {path: _inspect_file(path) for path in _list_files(source)}
    common = _merge_schemas({path: schema for path, (schema, _, _) in shapes.items()})
    number = numbered[0] if numbered and set(common.names).isdisjoint(numbered) else ""
    cuts, first = [], 0
    for path, (_, digest, rows) in shapes.items():
        for start in range(0, rows, size):
            count = min(size, rows - start)
            cuts.append((path, start, count, digest, first + start, number, common))
        first += rows
    if not cuts:
        raise FileError(f"{source} has no rows; use a file with rows")
    return [Shard(name, *cut) for name, cut in zip(make_part_names(len(cuts)), cuts, strict=True)]


def cut_table(table: pa.Table, size: int) -> list[Shard]:
    """Return the shards of a table in memory.

    Example:
        >>> import pyarrow as pa
        >>> [shard.rows for shard in cut_table(pa.table({"n": [1, 2, 3]}), 2)]
        [2, 1]
    """
    step = min(size, max(1, len(table)))
    parts = [table.slice(start, step) for start in range(0, len(table), step)]
    names = zip(make_part_names(len(parts)), parts, strict=True)
    return [Shard(name, "", 0, len(part), table=part) for name, part in names]


def make_part_names(count: int) -> list[str]:
    """Return the names of a job's output files.

    Example:
        >>> make_part_names(1)
        ['part-00000-of-00001.parquet']
    """
    width = max(5, len(str(count)))  # so that they are in order by name
    return [f"part-{n:0{width}}-of-{count:0{width}}.parquet" for n in range(count)]


def select_share(shards: Sequence[Shard], share: str | None) -> list[Shard]:
    """Return every N-th shard, starting with the one at index I.

    Args:
        share: `I/N`, with I from 0 to N - 1; None for all shards.

    Raises:
        FileError: The share is invalid.

    Example:
        >>> select_share([Shard(str(n), "", 0, 1) for n in range(5)], "1/2")[0].name
        '1'
    """
    if share is None:
        return list(shards)
    parts = re.fullmatch(r"(\d{1,9})/(\d{1,9})", share)
    if not parts or int(parts[1]) >= int(parts[2]):
        raise FileError(f"`shard` is {share!r}; write I/N with I from 0 to N - 1, such as 0/4")
    return list(shards[int(parts[1]) :: int(parts[2])])


def get_process_share(environment: Mapping[str, str]) -> str | None:
    """Return the share `RANK/WORLD_SIZE` of a process that `accelerate launch` started, or None.

    Example:
        >>> get_process_share({"RANK": "1", "WORLD_SIZE": "4"}), get_process_share({})
        ('1/4', None)
    """
    rank, size = environment.get("RANK"), environment.get("WORLD_SIZE")
    return f"{rank}/{size}" if rank and size else None


def _merge_schemas(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """Return the common schema of files, whose columns must have the same names."""
    # A column of nulls takes its type from the other files.
    first, common = next(iter(schemas)), None
    for path, schema in schemas.items():
        if schema.names != schemas[first].names:
            names, first_names = (", ".join(s.names)[:100] for s in (schema, schemas[first]))
            what = f"{path} has columns {names}, but {first} has {first_names}"
            raise FileError(f"{what}; give all files the same columns")
        plain = pa.schema(
            (f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
            for f in schema
        )
        with reraise(f"{path} has other column types", "give all files the same types"):
            common = pa.unify_schemas([common or plain, plain], promote_options="permissive")
    return common


def _list_files(source: str) -> list[str]:
    """Return the URLs of the files that a file, pattern or folder names, in alphabetical order."""
    with reraise(f"{source} cannot be found", "check its name"):
        file_system, path = fsspec.core.url_to_fs(source)
        is_folder = not any(mark in path for mark in "*?[") and file_system.isdir(path)
        patterns = [f"{path.rstrip('/')}/**/*.{kind}" for kind in KINDS] if is_folder else [path]
        globs = (file_system.glob(pattern, detail=True).items() for pattern in patterns)
        # Reading a pipe would block.
        matches = [[n for n, x in g if x["type"] == "file" or file_system.isfile(n)] for g in globs]
        paths = matches[0] or list(chain.from_iterable(matches))
    # As other readers of folders do, skip names like these, such as incomplete files.
    complete = [p for p in paths if p == path or not PurePosixPath(p).name.startswith((".", "_"))]
    if not complete:
        what = "contains no Parquet or CSV file" if is_folder else "not found"
        raise FileError(f"{source} {what}; check its name")
    for name in complete if is_folder and "file" in file_system.protocol else ():
        join_inside(path, name)
    return [file_system.unstrip_protocol(path) for path in sorted(complete)]


def _inspect_file(path: str) -> tuple[pa.Schema, str, int]:
    """Return a file's schema, hash and number of rows; refuse duplicate columns."""
    with reraise(f"{path} cannot be read", "give a Parquet or CSV file"):
        if is_separated := _is_csv(path):
            header, records = _open_csv(path, sys.maxsize)
            rows, schema = sum(1 for _ in records), pa.schema([(n, pa.string()) for n in header])
        else:
            with fsspec.open(path, "rb") as stream, pa.parquet.ParquetFile(stream) as file:
                rows, schema = file.metadata.num_rows, file.schema_arrow
        # A hash of the size and the last bytes, or of a whole CSV file, is the same everywhere.
        with fsspec.open(path, "rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0 if is_separated else max(0, size - _TAIL))
            digest = hash_parts([str(size), *iter(partial(stream.read, _TAIL), b"")])[:16]
    if duplicates := [name for name, count in Counter(schema.names).items() if count > 1]:
        raise FileError(f"{path}: duplicate column {duplicates[0]!r}; rename or remove one")
    return schema, digest, rows


def _read_rows(path: str, start: int, rows: int) -> pa.Table:
    """Return a range of rows; in Parquet, only their row groups are read."""
    if _is_csv(path):
        header, records = _open_csv(path, start)
        columns = zip(*islice(records, start, start + rows), strict=True)
        arrays = [pa.array(cells, pa.string()) for cells in columns]
        return pa.table(arrays or [[]] * len(header), header)
    with fsspec.open(path, "rb") as stream, pa.parquet.ParquetFile(stream) as file:
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        ends = list(accumulate(sizes))
        groups = [n for n, end in enumerate(ends) if end > start and end - sizes[n] < start + rows]
        offset = ends[groups[0]] - sizes[groups[0]] if groups else 0
        limit = get_max_bytes(stream.seek(0, 2))
        check_parquet(stream, file.schema_arrow.names, path, limit, groups)
        return file.read_row_groups(groups, use_threads=False).slice(start - offset, rows)


class _FsspecInput(Input):
    """A text file on any fsspec file system."""

    def require_file(self) -> None:
        """Do nothing, since `open` raises the error."""

    def open(self) -> Any:
        """Return the unpacked bytes as a file object."""
        return fsspec.open(self.name, "rb", compression="infer").open()


def _is_csv(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _open_csv(path: str, skipped: int) -> tuple[list[str], Iterator[list[str]]]:
    """Return a CSV file's column names and rows; only rows after `skipped` count as memory."""
    source = SeparatedValues(_FsspecInput(path), None, None)
    files, inner_path = fsspec.core.url_to_fs(path)
    source.max_bytes = get_max_bytes(files.size(inner_path) or 0)
    header, records = source.read_header_and_rows()

    def rows() -> Iterator[list[str]]:
        for number, record in enumerate(records):
            source.used_bytes *= number >= skipped
            yield record

    return header, rows()
