"""The one contract of long jobs: a pure function from an input shard to an output shard.

A shard is done when its file has its name. A rerun does what is not done, so a job that was killed
goes on where it was, and ends with the bytes of an undisturbed run. What the outputs were made from
and how stands in `_shards.json` beside them, so that no folder mixes two jobs. Any number of
processes and machines may work on one folder, each on its share.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqpp_files.errors import FileError
from pqpp_files.shards.cut import AnyShard, Shard, share_of
from pqpp_files.shards.pool import done_here
from pqpp_files.shards.store import ShardStore
from pqpp_files.shards.work import MANIFEST, Job, Work

if TYPE_CHECKING:
    from pqpp_files.shards.ray_engine import RayOptions

_OUTPUTS = (MANIFEST, "part-*.parquet", ".*.pqpp-*")
ENGINES = ("local", "ray")


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


def run_shards(
    job: Job,
    shards: Sequence[AnyShard],
    output: str | os.PathLike[str],
    settings: Mapping[str, Any],
    share: str | None = None,
    workers: int = 1,
    progress: bool = False,
    beside: Sequence[str] = (),
    engine: str = "local",
    ray: RayOptions | None = None,
) -> ShardsDone:
    """Do what is not done of a job.

    Args:
        job: From the rows of a shard to those of its output; the same rows give the same output.
            With several workers it must be picklable.
        shards: All shards of the job, from `find_shards` or `hold_shards`.
        output: The folder of the outputs, or a URL that fsspec knows, like `s3://bucket/done`.
        settings: What the outputs depend on besides the rows; goes into `_shards.json`.
        share: `I/N`: only this share of the shards.
        workers: How many processes; each has one thread for linear algebra.
        progress: Whether a bar is shown.
        beside: Patterns of what else may lie in the folder.
        engine: "local": this process or `workers` on this machine; "ray": a cluster, where the
            output is a place that all nodes see.
        ray: What of the cluster is taken; a processor a task if left out.

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
    store, chosen = ShardStore(output), share_of(shards, share)
    if workers < 1:
        raise FileError(f"workers {workers}: give 1 or more")
    if engine not in ENGINES:
        raise FileError(f"engine {engine!r}: choose among {', '.join(ENGINES)}")
    inputs = {shard.path.removeprefix("file://") for shard in shards if isinstance(shard, Shard)}
    store.check((*_OUTPUTS, *beside), sorted(inputs))
    # Not the whole path, which may differ between the machines of one job.
    made_from = {"settings": dict(settings), "shards": [shard.told() for shard in shards]}
    work = Work(job, store, json.dumps(made_from, indent=1, sort_keys=True) + "\n")
    there, todo, summary = work.check(), [], ShardsDone()
    for shard in chosen:
        if shard.name in there:
            summary.skipped += 1
            summary.errors += work.errors_of(shard)
        else:
            todo.append(shard)
    if engine == "ray":
        from pqpp_files.shards.ray_engine import RayOptions, done_on_ray

        done = done_on_ray(work, todo, ray or RayOptions(workers=None if workers == 1 else workers))
    else:
        done = done_here(work, todo, workers)
    with _bar(chosen, todo, progress) as bar:
        for shard, errors in work.committed(done):
            if errors is None:
                summary.skipped += 1
            else:
                summary.shards += 1
                summary.rows += shard.rows
                summary.errors += errors
            bar.update(shard.rows)
    return summary


def _bar(chosen: Sequence[AnyShard], todo: Sequence[AnyShard], progress: bool) -> Any:
    from tqdm import tqdm

    rows, left = (sum(shard.rows for shard in shards) for shards in (chosen, todo))
    return tqdm(total=rows, initial=rows - left, unit="row", unit_scale=True, disable=not progress)
