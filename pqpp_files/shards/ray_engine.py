"""Run shards on a Ray cluster, with one task per shard.

Workers keep their model from shard to shard. If a worker dies, Ray gives its shard to another one.
The number of submitted tasks is bounded, so that the driver's memory does not grow with the job.
Ray Data is not used, since it loses the order of files and repeats everything after a failure.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, PqppError, describe
from pqpp_files.extras import require_extra
from pqpp_files.paths import resolve
from pqpp_files.shards.cut import Shard
from pqpp_files.shards.run import THREADS, ShardJob

_CHECK_INTERVAL = 30.0  # seconds without a result, then the cluster's resources are checked again
_JOBS: dict[str, ShardJob] = {}  # the job of this worker process, by its Ray reference


@dataclass(frozen=True)
class RayOptions:
    """The resources of each Ray task.

    Attributes:
        num_cpus: CPUs per task.
        num_gpus: GPUs per task; fractions are allowed.
    """

    num_cpus: float = 1.0
    num_gpus: float = 0.0


def run_on_ray(
    work: ShardJob, todo: Sequence[Shard], options: RayOptions, workers: int | None
) -> Iterator[tuple[Shard, int | None]]:
    """Run shards on a Ray cluster; yield each finished one and its number of rows with an error.

    Raises:
        FileError: There is no cluster, no node has the resources for a task, or a task failed.
        MissingExtraError: Ray is not installed.
    """
    if not todo:
        return
    work.folder = str(Path.cwd())
    if work.store.is_local:
        work.store.url = str(resolve(work.store.url))
    with _connect() as ray:
        try:
            for shard, errors in _run_tasks(ray, work, todo, options, workers):
                # A shard that a killed worker finished is reported as done by another process.
                yield shard, work.count_errors(shard) if errors is None else errors
        except Exception as error:  # other errors are Ray's, with a job's error as the cause
            cause = getattr(error, "cause", error)
            if isinstance(cause, PqppError):
                raise cause from None
            # The message of a failed task contains a traceback.
            reason = (str(error).strip() or type(error).__name__).splitlines()[-1][:300]
            raise FileError(f"Ray failed ({reason}); run the command again to resume") from None


@contextmanager
def _connect() -> Iterator[Any]:
    """Yield the module `ray`, connected to the cluster at RAY_ADDRESS or to a local one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with require_extra("`engine` ray", "ray"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    environment = dict.fromkeys(THREADS, "1")
    address = os.environ.get("RAY_ADDRESS", "local")
    if address == "local":
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        quiet: Any = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        quiet |= {"include_dashboard": False} if address == "local" else {}
        ray.init(address, runtime_env={"env_vars": environment}, **quiet)
    except Exception as error:  # if no process can start, `ray.init` raises a bare Exception
        what = f"no connection to the Ray cluster {address} ({describe(error)[:200]})"
        raise FileError(f"{what}; check RAY_ADDRESS") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _count_slots(ray: Any, options: RayOptions) -> int:
    """Return the number of tasks that fit on the cluster at once; raise an error if none does."""
    counts = {"CPU": options.num_cpus, "GPU": options.num_gpus}
    needs = {name: count for name, count in counts.items() if count}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    shares = ([node.get(name, 0) / count + 1e-9 for name, count in needs.items()] for node in nodes)
    if not (slots := sum(map(math.floor, map(min, shares)))):
        text = ", ".join(f"{count:g} {name}" for name, count in needs.items())
        raise FileError(f"no node has {text}; lower `num_cpus` or `num_gpus`")
    return slots


def _run_tasks(
    ray: Any, work: ShardJob, todo: Sequence[Shard], options: RayOptions, workers: int | None
) -> Iterator[tuple[Shard, int | None]]:
    """Run up to `workers` shards at once, if they fit, and yield each finished one."""
    slots, waiting, running = _count_slots(ray, options), iter(todo), dict[Any, Shard]()
    resources = {"num_cpus": options.num_cpus, "num_gpus": options.num_gpus}
    # A worker with a GPU would end after each task.
    remote_run = ray.remote(**resources, max_retries=3, max_calls=0)(_run_shard)
    job = ray.put(work)
    try:
        while True:
            for shard in itertools.islice(waiting, min(slots, workers or slots) - len(running)):
                running[remote_run.remote([job], shard)] = shard
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=_CHECK_INTERVAL)
            if not ready:
                _count_slots(ray, options)
            for task in ready:
                yield running.pop(task), ray.get(task)
    finally:
        for task in running:
            ray.cancel(task, force=True)


def _run_shard(work: list[Any], shard: Shard) -> int | None:
    """Run a shard in a worker, which keeps the job, with its model, for further shards."""
    import ray

    (reference,) = work  # Ray does not resolve references inside a list
    if reference.hex() not in _JOBS:
        _JOBS.clear()
        _JOBS[reference.hex()] = ray.get(reference)
    return _JOBS[reference.hex()].run(shard)
