"""Run jobs shard by shard, on any number of processes and machines.

A shard is done once its output exists, so a rerun of a killed job computes only the missing ones.
`_shards.json`, next to the outputs, contains the inputs and settings of the job, so that no folder
mixes two jobs.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet

from pqpp_files.errors import FileError, reraise
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.open_input import MANIFEST
from pqpp_files.shards.cells import replace_invalid_utf8
from pqpp_files.shards.cut import Shard, select_share
from pqpp_files.shards.store import ShardStore

if TYPE_CHECKING:
    from pqpp_files.shards.ray_engine import RayOptions

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ERROR = "error"
"""The column with the reason why a row could not be computed; null for a good row."""

"""The file next to the outputs with their inputs and settings."""

Job = Callable[["pa.Table"], "pa.Table"]
_JOB: list[ShardJob] = []  # the job of this worker process


@dataclass
class ShardSummary:
    """Counts of a job's shards and rows.

    Attributes:
        shards: Number of new outputs.
        skipped: Number of existing outputs.
        rows: Number of rows in new outputs.
        errors: Number of rows with an `error`, in new and existing outputs.
    """

    shards: int = 0
    skipped: int = 0
    rows: int = 0
    errors: int = 0


def run_shards(
    job: Job,
    shards: Sequence[Shard],
    output: str | os.PathLike[str],
    settings: Mapping[str, Any],
    share: str | None = None,
    workers: int | None = None,
    progress: bool = False,
    engine: str = "local",
    ray: RayOptions | None = None,
) -> ShardSummary:
    """Run a job on all shards that have no output yet.

    Args:
        job: A deterministic function from the rows of a shard to the rows of its output.
        shards: All shards of the job, from `find_shards` or `cut_table`.
        output: The output folder, or an fsspec URL like `s3://bucket/done`.
        settings: The settings that the outputs depend on, to store in `_shards.json`.
        share: Run only the share `I/N` of the shards; see `select_share`.
        workers: Number of processes, each with one BLAS thread; default: one locally, or as many as
            fit on Ray.
        progress: Whether to show a progress bar.
        engine: "local": this process or `workers` on this machine; "ray": a cluster, whose nodes
            all see the output.
        ray: The resources of a Ray task; default: one CPU.

    Raises:
        FileError: The folder has outputs of another job or other files, a shard cannot be read, or
            a worker was killed. Finished outputs are kept.

    Example:
        >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet
        >>> from pqpp_files.shards import find_shards
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pa.parquet.write_table(pa.table({"n": [1, 2, 3]}), folder / "n.parquet")
        >>> shards = find_shards(str(folder / "n.parquet"), 2)
        >>> run_shards(lambda table: table, shards, folder / "out", {})
        ShardSummary(shards=2, skipped=0, rows=3, errors=0)
        >>> run_shards(lambda table: table, shards, folder / "out", {})
        ShardSummary(shards=0, skipped=2, rows=0, errors=0)
    """
    from tqdm import tqdm

    store, chosen = ShardStore(output), select_share(shards, share)
    inputs = {shard.path.removeprefix("file://") for shard in shards if shard.path}
    store.check(("part-*.parquet", MANIFEST, ".*.pqpp-*"), sorted(inputs))
    # `as_dict` has only the file's name, since folders may differ between machines.
    manifest = {"settings": dict(settings), "shards": [shard.as_dict() for shard in shards]}
    if is_dataclass(job) and (engine == "ray" or (workers or 1) > 1):
        job = replace(job)  # type: ignore[type-var]  # without models: each worker loads its own
    work = ShardJob(job, store, json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    names = work.list_outputs()
    existing = [shard for shard in chosen if shard.name in names]
    todo = [shard for shard in chosen if shard.name not in names]
    summary = ShardSummary(skipped=len(existing), errors=sum(map(work.count_errors, existing)))
    if engine == "ray":
        from pqpp_files.shards.ray_engine import RayOptions, run_on_ray

        done = run_on_ray(work, todo, ray or RayOptions(), workers)
    else:
        done = _run(work, todo, workers or 1)
    rows, missing_rows = (sum(shard.rows for shard in group) for group in (chosen, todo))
    bar_options = {"unit": "row", "unit_scale": True, "disable": not progress}
    with tqdm(total=rows, initial=rows - missing_rows, **bar_options) as bar:
        for shard, errors in done:
            if errors is None:
                summary.skipped += 1
            else:
                summary.shards += 1
                summary.rows += shard.rows
                summary.errors += errors
            bar.update(shard.rows)
    return summary


@dataclass
class ShardJob:
    """A job with its output store, which processes share.

    Attributes:
        job: As in `run_shards`.
        manifest: The required content of `_shards.json`.
        is_begun: Whether the store is known to have that content.
        folder: The working directory of the job; None for the current one.
    """

    job: Job
    store: ShardStore
    manifest: str
    is_begun: bool = False
    folder: str | None = None

    def run(self, shard: Shard) -> int | None:
        """Write the output of a shard, and return the number of rows with an error.

        The result is None if the output exists already.
        """
        with contextlib.suppress(OSError):  # a node may have no such folder, and need none
            os.chdir(self.folder or os.curdir)
        if self.store.exists(shard.name):
            return None
        table = replace_invalid_utf8(self.job(shard.read()))
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(table, buffer)
        if not self.is_begun:  # now that the job is known not to be refused
            manifest = self.manifest.encode()
            if self.store.exists(MANIFEST) or not self.store.write_new(MANIFEST, manifest):
                self.list_outputs()  # another process may have begun another job since
            self.is_begun = True
        return _count_errors(table) if self.store.write_new(shard.name, buffer.getvalue()) else None

    def list_outputs(self) -> set[str]:
        """Return the names of the existing files; raise if the folder belongs to another job."""
        names = self.store.list_names()
        if MANIFEST not in names:
            if any(name.startswith("part-") for name in names):
                raise FileError(f"{self.store} has shards but no {MANIFEST}; use a new folder")
            return names
        expected = parse_json(self.manifest)
        try:
            existing = parse_json(self.store.read(MANIFEST).decode())
            settings, shards = dict(existing["settings"]), existing["shards"]
        except (ValueError, KeyError, TypeError):
            raise FileError(f"{self.store}/{MANIFEST} is damaged; use a new folder") from None
        for name in sorted({*settings, *expected["settings"]}):
            before, now = settings.get(name), expected["settings"].get(name)
            if before != now:
                change = f"{name} = {before}, not {now}"
                raise FileError(f"{self.store} was written with {change}; use a new folder")
        if shards != expected["shards"]:
            raise FileError(f"{self.store} has results for other rows or shards; use a new folder")
        return names

    def count_errors(self, shard: Shard) -> int:
        """Return the number of rows with an error in an existing output."""
        what = f"{self.store}/{shard.name} is damaged"
        with reraise(what, "delete this file and rerun"), self.store.open(shard.name) as opened:
            # A table without the column has no errors.
            file = pyarrow.parquet.ParquetFile(opened)
            return _count_errors(file.read([ERROR], use_threads=False))


def _count_errors(table: pa.Table) -> int:
    return len(table) - table[ERROR].null_count if ERROR in table.column_names else 0


def _run(work: ShardJob, todo: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, int | None]]:
    """Run shards in this process or others, and yield each with the result of `ShardJob.run`."""
    if workers == 1 or len(todo) < 2:
        for shard in todo:
            yield shard, work.run(shard)
        return
    before = {name: os.environ[name] for name in THREADS if name in os.environ}
    os.environ |= dict.fromkeys(THREADS, "1")  # new processes inherit it before they import
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(todo)), spawn, _start_worker, (work,))
    try:
        running = {pool.submit(_run_shard, shard): shard for shard in todo}
        for future in as_completed(running):
            yield running[future], future.result()
    except BrokenProcessPool:
        raise FileError("a worker was killed (out of memory?); use fewer workers") from None
    finally:
        pool.shutdown(cancel_futures=True)
        for name in THREADS:
            del os.environ[name]
        os.environ |= before


def _start_worker(work: ShardJob) -> None:
    """Store the job for this worker process, and end the process with its parent."""
    _JOB[:] = [work]
    parent: Any = multiprocessing.parent_process()

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _run_shard(shard: Shard) -> int | None:
    return _JOB[0].run(shard)
