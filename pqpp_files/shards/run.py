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
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.foreign.json_values import parse_json, read_json
from pqpp_files.options.arguments import typed
from pqpp_files.paths import check_output_folder, expanded
from pqpp_files.shards.cells import all_utf_8
from pqpp_files.shards.cut import AnyShard, Shard, share_of
from pqpp_files.write_beside import write_beside, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

ERROR = "error"
"""The column in which a job says why a row could not be done; null for a good row."""

MANIFEST = "_shards.json"  # readers of folders leave out what begins so
"""The file beside the outputs that says what they were made from and how."""

_OUTPUTS = (MANIFEST, "part-*.parquet", ".*.pqpp-*")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Job = Callable[["pa.Table"], "pa.Table"]


@dataclass
class ShardsDone:
    """What a run has done.

    Attributes:
        shards: How many outputs it wrote.
        skipped: How many were there already.
        rows: Rows of those written.
        errors: Rows, of those written and those that were there, whose column `error` says why
            they could not be done.
    """

    shards: int = 0
    skipped: int = 0
    rows: int = 0
    errors: int = 0


@typed
def run_shards(
    job: Job,
    shards: Sequence[AnyShard],
    output: str | os.PathLike[str],
    settings: Mapping[str, Any],
    share: str | None = None,
    workers: int = 1,
    progress: bool = False,
    beside: Sequence[str] = (),
) -> ShardsDone:
    """Do what is not done of a job.

    Args:
        job: From the rows of a shard to those of its output; the same rows give the same output.
            With several workers it must be picklable.
        shards: All shards of the job, from `find_shards` or `hold_shards`.
        output: The folder of the outputs.
        settings: What the outputs depend on besides the rows; goes into `_shards.json`.
        share: `I/N`: only this share of the shards.
        workers: How many processes; each has one thread for linear algebra.
        progress: Whether a bar is shown.
        beside: Patterns of what else may lie in the folder.

    Raises:
        FileError: The folder holds the outputs of another job or other things, a shard cannot be
            read, or a worker was killed. What is done stays.

    Example:
        >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet
        >>> from pqpp_files.shards import find_shards
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pa.parquet.write_table(pa.table({"n": [1, 2, 3]}), folder / "n.parquet")
        >>> shards = find_shards(str(folder / "n.parquet"), 2)
        >>> run_shards(lambda table: table, shards, folder / "out", {})
        ShardsDone(shards=2, skipped=0, rows=3, errors=0)
        >>> run_shards(lambda table: table, shards, folder / "out", {})
        ShardsDone(shards=0, skipped=2, rows=0, errors=0)
    """
    place = expanded(output)
    chosen = share_of(shards, share)
    if workers < 1:
        raise FileError(f"workers {workers}: give a number from 1")
    inputs = {shard.path.removeprefix("file://") for shard in shards if isinstance(shard, Shard)}
    check_output_folder(place, (*_OUTPUTS, *beside), inputs)
    # Not the whole path, which may differ between the machines of one job.
    made_from = {"settings": dict(settings), "shards": [shard.told() for shard in shards]}
    work = _Work(job, place, json.dumps(made_from, indent=1, sort_keys=True) + "\n")
    work.check()
    todo, summary = [], ShardsDone()
    for shard in chosen:
        if (place / shard.name).exists():
            summary.skipped += 1
            summary.errors += _errors_in(place / shard.name)
        else:
            todo.append(shard)
    with _bar(chosen, todo, progress) as bar:
        for shard, errors in _done(work, todo, workers):
            if errors is None:
                summary.skipped += 1
            else:
                summary.shards += 1
                summary.rows += shard.rows
                summary.errors += errors
            bar.update(shard.rows)
    return summary


@dataclass
class _Work:
    """A job, and where its outputs go.

    Attributes:
        job: See `run_shards`.
        place: The folder.
        manifest: What `_shards.json` must say.
        is_begun: Whether it says so.
    """

    job: Job
    place: Path
    manifest: str
    is_begun: bool = False

    def do(self, shard: AnyShard) -> int | None:
        """Write the output of a shard, and return how many of its rows could not be done.

        Returns:
            None where another process has meanwhile done it.
        """
        import pyarrow.parquet

        if (self.place / shard.name).exists():
            return None
        table = all_utf_8(self.job(shard.read()))
        self._write_manifest()  # now that the job is known not to be refused
        with write_beside(self.place / shard.name) as beside:
            pyarrow.parquet.write_table(table, beside)
        return _errors(table)

    def check(self) -> None:
        """Refuse a folder of another job."""
        path = self.place / MANIFEST
        if not path.exists():
            if self.place.exists() and any(self.place.glob("part-*.parquet")):
                raise FileError(f"{self.place} holds shards but no {MANIFEST}; name a new folder")
            return
        wanted = parse_json(self.manifest)
        try:
            there = read_json(path)
            settings, shards = dict(there["settings"]), there["shards"]
        except (ValueError, KeyError, TypeError):
            raise FileError(f"{path} is damaged; name a new folder") from None
        for name in sorted({*settings, *wanted["settings"]}):
            before, now = settings.get(name), wanted["settings"].get(name)
            if before != now:
                raise FileError(
                    f"{self.place} was made with {name} {before}, not {now}; name a new folder"
                )
        if shards != wanted["shards"]:
            raise FileError(f"{self.place} was made from other rows or shards; name a new folder")

    def _write_manifest(self) -> None:
        if self.is_begun:
            return
        if (self.place / MANIFEST).exists():
            self.check()  # another process may have begun another job since
        else:
            write_whole(self.place / MANIFEST, self.manifest)
        self.is_begun = True


def _errors(table: pa.Table) -> int:
    return len(table) - table[ERROR].null_count if ERROR in table.column_names else 0


def _errors_in(path: Path) -> int:
    """Return how many rows of an output that is there have an error."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            return _errors(file.read(columns=[ERROR]))  # none is no error here
    except (pa.ArrowException, OSError) as error:
        reason = in_a_line(error, named=False)
        raise FileError(f"{path} is damaged ({reason}); remove it and run again") from None


_WORK: list[_Work] = []  # in a worker, what it works on


def _begin(work: _Work) -> None:
    _WORK[:] = [work]
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when the process that started it has been killed; it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(shard: AnyShard) -> int | None:
    return _WORK[0].do(shard)


def _done(
    work: _Work, todo: Sequence[AnyShard], workers: int
) -> Iterator[tuple[AnyShard, int | None]]:
    """Do shards, in this process or in others; gives each with its number of bad rows."""
    if workers == 1 or len(todo) < 2:
        for shard in todo:
            yield shard, work.do(shard)
        return
    before = {name: os.environ[name] for name in _THREADS if name in os.environ}
    os.environ |= dict.fromkeys(_THREADS, "1")  # new processes take it over before they import
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(todo)), spawn, _begin, (work,))
    try:
        running = {pool.submit(_do, shard): shard for shard in todo}
        for future in as_completed(running):
            yield running[future], future.result()
    except BrokenProcessPool:
        raise FileError(
            "a worker was killed, perhaps for want of memory; run it again with fewer workers or "
            "smaller shards: what is done stays"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
        for name in _THREADS:
            del os.environ[name]
        os.environ |= before


def _bar(chosen: Sequence[AnyShard], todo: Sequence[AnyShard], progress: bool) -> Any:
    from tqdm import tqdm

    rows, left = (sum(shard.rows for shard in shards) for shards in (chosen, todo))
    return tqdm(total=rows, initial=rows - left, unit="row", unit_scale=True, disable=not progress)
