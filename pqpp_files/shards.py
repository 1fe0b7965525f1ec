"""The one contract of long jobs: a pure function from an input shard to an output shard.

A shard is done when its file has its name. A rerun does what is not done, so a job that was killed
goes on where it was, and ends with the bytes of an undisturbed run. What the outputs were made from
and how stands in `_shards.json` beside them, so that no folder mixes two jobs. Any number of
processes and machines may work on one folder, each on its share.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.check_output import check_output_folder
from pqpp_files.errors import FileError, in_a_line
from pqpp_files.write_beside import write_beside

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 100_000
"""Rows of a shard where none is asked for."""

ERROR = "error"
"""The column in which a job says why a row could not be done; null for a good row."""

_MANIFEST = "_shards.json"  # readers of folders leave out what begins so
_OUTPUTS = (_MANIFEST, "part-*.parquet", ".*.pqpp-*")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Job = Callable[["pa.Table"], "pa.Table"]


@dataclass(frozen=True)
class Shard:
    """Some rows of an input file, and the name of the file that is made from them.

    Attributes:
        name: Of the output, like `part-00003-of-00012.parquet`.
        path: The input: Parquet, or Arrow as `datasets` saves it; also with `hf://` before.
        start: The first row.
        rows: How many.
    """

    name: str
    path: str
    start: int
    rows: int

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


@dataclass
class Summary:
    """What a run has done.

    Attributes:
        shards: How many outputs it wrote.
        skipped: How many were there already.
        rows: Rows of those written.
        errors: Rows of those written whose column `error` says why they could not be done.
    """

    shards: int = 0
    skipped: int = 0
    rows: int = 0
    errors: int = 0


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
    cuts: list[tuple[str, int, int]] = []
    first: tuple[str, list[str]] | None = None
    for path in _files(source):
        rows, names = _shape(path)
        first = first or (path, names)
        if names != first[1]:
            raise FileError(
                f"{path}: columns {', '.join(names)[:100]}, those of {first[0]} are "
                f"{', '.join(first[1])[:100]}; give files of one kind"
            )
        cuts += [(path, at, min(size, rows - at)) for at in range(0, rows, size)]
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


def run_shards(
    job: Job,
    shards: Sequence[Shard],
    output: str | os.PathLike[str],
    settings: Mapping[str, Any],
    share: str | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Summary:
    """Do what is not done of a job.

    Args:
        job: From the rows of a shard to those of its output; the same rows give the same output.
            With several workers it must be picklable.
        shards: All shards of the job, from `find_shards`.
        output: The folder of the outputs.
        settings: What the outputs depend on besides the rows; goes into `_shards.json`.
        share: `I/N`: only this share of the shards.
        workers: How many processes; each has one thread for linear algebra.
        progress: Whether a bar is shown.

    Raises:
        FileError: The folder holds the outputs of another job or other things, a shard cannot be
            read, or a worker was killed. What is done stays.

    Example:
        >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pa.parquet.write_table(pa.table({"n": [1, 2, 3]}), folder / "n.parquet")
        >>> shards = find_shards(str(folder / "n.parquet"), 2)
        >>> run_shards(lambda table: table, shards, folder / "out", {})
        Summary(shards=2, skipped=0, rows=3, errors=0)
        >>> run_shards(lambda table: table, shards, folder / "out", {})
        Summary(shards=0, skipped=2, rows=0, errors=0)
    """
    place = Path(output).expanduser()
    chosen = share_of(shards, share)
    if workers < 1:
        raise FileError(f"workers {workers}: give a number from 1")
    check_output_folder(place, _OUTPUTS)
    _note(place, shards, settings)
    todo = [shard for shard in chosen if not (place / shard.name).exists()]
    summary = Summary(skipped=len(chosen) - len(todo))
    with _bar(chosen, todo, progress) as bar:
        for shard, errors in _done(job, todo, place, workers):
            summary.shards += 1
            summary.rows += shard.rows
            summary.errors += errors
            if bar is not None:
                bar.update(shard.rows)
    return summary


def _done(
    job: Job, todo: Sequence[Shard], place: Path, workers: int
) -> Iterator[tuple[Shard, int]]:
    """Do shards, in this process or in others; gives each with its number of bad rows."""
    if workers == 1 or len(todo) < 2:
        for shard in todo:
            yield shard, _do(job, shard, place)
        return
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")  # new processes take it over before they import
    pool = ProcessPoolExecutor(min(workers, len(todo)), multiprocessing.get_context("spawn"))
    try:
        running = {pool.submit(_do, job, shard, place): shard for shard in todo}
        for one in as_completed(running):
            yield running[one], one.result()
    except BrokenProcessPool:
        raise FileError(
            "a worker was killed, perhaps for want of memory; run it again with fewer workers or "
            "smaller shards: what is done stays"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _do(job: Job, shard: Shard, place: Path) -> int:
    """Write the output of a shard, and return how many of its rows could not be done."""
    import pyarrow.parquet

    table = job(shard.read())
    with write_beside(place / shard.name) as beside:
        pyarrow.parquet.write_table(table, beside)
    if ERROR not in table.column_names:
        return 0
    return len(table) - table[ERROR].null_count


def _note(place: Path, shards: Sequence[Shard], settings: Mapping[str, Any]) -> None:
    """Note what a folder's outputs are made from, or refuse a folder of another job."""
    # Not the whole path, which may differ between the machines of one job.
    made = [asdict(one) | {"path": one.path.rpartition("/")[2]} for one in shards]
    wanted = json.loads(json.dumps({"settings": settings, "shards": made}))
    path = place / _MANIFEST
    if not path.exists():
        if place.exists() and any(place.glob("part-*.parquet")):
            raise FileError(f"{place} holds shards but no {_MANIFEST}; name a new folder")
        with write_beside(path) as beside:
            beside.write_text(json.dumps(wanted, indent=1, sort_keys=True) + "\n", "utf-8")
    try:
        found = json.loads(path.read_text("utf-8"))
        held, made_from = found["settings"], found["shards"]
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{path} is damaged; name a new folder") from None
    for name in sorted({*held, *wanted["settings"]}):
        one, other = held.get(name), wanted["settings"].get(name)
        if one != other:
            raise FileError(f"{place} was made with {name} {one}, not {other}; name a new folder")
    if made_from != wanted["shards"]:
        raise FileError(f"{place} was made from other rows or shards; name a new folder")


def _bar(chosen: Sequence[Shard], todo: Sequence[Shard], progress: bool) -> Any:
    if not progress:
        return nullcontext()
    from tqdm import tqdm

    rows = sum(shard.rows for shard in chosen)
    left = sum(shard.rows for shard in todo)
    return tqdm(total=rows, initial=rows - left, unit="row", unit_scale=True)


def _files(source: str) -> list[str]:
    """Return the files that a source names, in the order of their names."""
    import fsspec

    file_system, path = fsspec.core.url_to_fs(source)
    try:
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
