"""Cutting an input into shards, and reading one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.hashes import sha256_of_parts

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 100_000
"""Rows of a shard where none is asked for."""

_END = 1 << 18


@dataclass(frozen=True)
class Shard:
    """Some rows of an input file, and the name of the file that is made from them.

    Attributes:
        name: Of the output, like `part-00003-of-00012.parquet`.
        path: The input: Parquet, or Arrow as `datasets` saves it; also with `hf://` before.
        start: The first row.
        rows: How many.
        digest: Of the input's size and end, where Parquet keeps what its columns hold.
    """

    name: str
    path: str
    start: int
    rows: int
    digest: str = ""

    def read(self) -> pa.Table:
        """Return the rows.

        Raises:
            FileError: The file is damaged, or is no longer what it was.
        """
        import pyarrow as pa

        try:
            table = _slice(self.path, self.start, self.rows)
        except (pa.ArrowException, OSError) as error:
            raise FileError(
                f"{self.path}: {in_a_line(error, named=False)}; copy it again"
            ) from None
        if len(table) != self.rows:
            raise FileError(
                f"{self.path}: {self.start + len(table)} rows, there were {self.start + self.rows} "
                "or more when the job began; begin in a new folder"
            )
        return table


def find_shards(source: str, size: int | None = None) -> list[Shard]:
    """Cut an input into shards; the same input gives the same shards wherever it is asked.

    Args:
        source: A Parquet file, a pattern such as `prompts/*.parquet`, a folder of such files or one
            that `datasets` has saved; also with `hf://` before.
        size: The most rows of a shard, 100,000 if left out; no shard spans two files.

    Returns:
        The shards, in the order of the files' names.

    Raises:
        FileError: There is no such file, one is no Parquet, or their columns differ.

    Example:
        >>> import pathlib, pyarrow as pa, pyarrow.parquet, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "prompts.parquet")
        >>> pa.parquet.write_table(pa.table({"prompt": ["a", "b", "c"]}), path)
        >>> [(shard.name, shard.start, shard.rows) for shard in find_shards(str(path), 2)]
        [('part-00000-of-00002.parquet', 0, 2), ('part-00001-of-00002.parquet', 2, 1)]
    """
    size = SIZE if size is None else size
    if size < 1:
        raise FileError(f"shard size {size}: give a number from 1")
    cuts: list[tuple[str, int, int, str]] = []
    first: tuple[str, list[str]] | None = None
    for path in _files(source):
        rows, names = _shape(path)
        first = first or (path, names)
        if names != first[1]:
            raise FileError(
                f"{path}: columns {', '.join(names)[:100]}, those of {first[0]} are "
                f"{', '.join(first[1])[:100]}; give files of one kind"
            )
        digest = _digest(path)
        cuts += [(path, at, min(size, rows - at), digest) for at in range(0, rows, size)]
    if not cuts:
        raise FileError(f"{source}: no rows; give a file that has some")
    name = f"part-{{:05}}-of-{len(cuts):05}.parquet"
    return [Shard(name.format(number), *cut) for number, cut in enumerate(cuts)]


def share_of(shards: Sequence[Shard], share: str | None) -> list[Shard]:
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
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", share)
    if not found or int(found[1]) >= int(found[2]):
        raise FileError(f"shard {share!r}: write I/N with I from 0 to N - 1, like 0/4")
    return int(found[1]), int(found[2])


def _files(source: str) -> list[str]:
    """Return the files that a source names, in the order of their names."""
    import fsspec

    try:
        file_system, path = fsspec.core.url_to_fs(source)
        if any(mark in path for mark in "*?["):
            found = file_system.glob(path)
        elif file_system.isdir(path):
            found = [
                one
                for end in ("parquet", "arrow")
                for one in file_system.glob(f"{path.rstrip('/')}/**/*.{end}")
            ]
        else:
            found = [path] if file_system.exists(path) else []
    except Exception as error:  # each file system has errors of its own
        raise FileError(f"{source}: {in_a_line(error)}; check its name") from None
    if not found:
        raise FileError(f"{source}: there is no such file; check its name")
    return [file_system.unstrip_protocol(one) for one in sorted(found)]


def _digest(path: str) -> str:
    """Return a hash of a file's size and its last bytes, the same on every machine."""
    with _open(path) as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - _END))
        return sha256_of_parts([str(size), opened.read()])[:16]


def _shape(path: str) -> tuple[int, list[str]]:
    """Return the number of rows of a file and its columns."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        if path.endswith(".arrow"):
            table = _arrow(path)
            return len(table), table.column_names
        with _open(path) as opened, pa.parquet.ParquetFile(opened) as file:
            return file.metadata.num_rows, file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        reason = in_a_line(error, named=False)
        raise FileError(f"{path}: not Parquet ({reason}); shards are cut from Parquet") from None


def _slice(path: str, start: int, rows: int) -> pa.Table:
    """Return some rows of a file; of Parquet only the groups of rows that they lie in are read."""
    import pyarrow as pa
    import pyarrow.parquet

    if path.endswith(".arrow"):
        return _arrow(path).slice(start, rows)
    with _open(path) as opened, pa.parquet.ParquetFile(opened) as file:
        groups, at, skipped = [], 0, 0
        for number in range(file.num_row_groups):
            end = at + file.metadata.row_group(number).num_rows
            if end <= start:
                skipped = end
            elif at < start + rows:
                groups.append(number)
            at = end
        parts, seen = [], skipped
        for batch in file.iter_batches(16_384, row_groups=groups):
            first, last = max(start - seen, 0), min(start + rows - seen, len(batch))
            if first < last:
                parts.append(batch.slice(first, last - first))
            seen += len(batch)
            if seen >= start + rows:
                break
        return pa.Table.from_batches(parts, file.schema_arrow)


def _arrow(path: str) -> pa.Table:
    """Return a file of `datasets`, which stays on the disk where it is."""
    import pyarrow as pa

    file = pa.memory_map(path.removeprefix("file://"))
    return pa.ipc.open_stream(file).read_all()


def _open(path: str) -> Any:
    import fsspec

    return closing(fsspec.open(path, "rb").open())
