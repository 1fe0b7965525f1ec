"""Ray's engine: shards by actors on a cluster, which keep a model from shard to shard.

Ray Data is not used: it loses the order of files and does everything again after a failure. The
shard of an actor that died goes to another one, and no actor is waited for that found no place.
What is in flight is bounded, so that the driver's memory does not grow with the job.
"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, PqppError, in_a_line
from pqpp_files.extras import needing
from pqpp_files.paths import resolved
from pqpp_files.shards.cut import Shard
from pqpp_files.shards.run import THREADS, Done, Work

_TRIES = 4
_LOOK = 30.0  # seconds without a result until the cluster is asked whether the work still fits


@dataclass(frozen=True)
class RayOptions:
    """What of a cluster a job takes.

    Attributes:
        address: Of the cluster, as `ray.init` takes it; a new one on this machine if None.
        num_cpus: Of an actor.
        num_gpus: Of an actor, fractions too.
        workers: The most actors at once; as many as fit if None.
    """

    address: str | None = None
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    workers: int | None = None


def done_on_ray(
    work: Work, todo: Sequence[Shard], options: RayOptions
) -> Iterator[tuple[Shard, Done]]:
    """Do shards on a cluster; gives each with what came of it, as they are done.

    Raises:
        FileError: No node has what an actor asks for, a worker cannot import the job, or a shard's
            workers died four times.
        MissingExtraError: Ray is not installed.
    """
    if not todo:
        return
    work.folder = str(Path.cwd())
    if work.store.is_local:
        work.store.url = str(resolved(work.store.url))
    with _cluster(options) as ray:
        places = _places(ray, options)
        try:
            for shard, done in _actors_do(ray, work, todo, options, places):
                # After a kill what a dead worker had done comes back as done by another.
                is_there = done.errors is None
                yield shard, done._replace(errors=work.errors_of(shard)) if is_there else done
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, PqppError):
                raise cause from None
            if isinstance(error, ray.exceptions.RayTaskError):
                reason = str(error).strip().splitlines()[-1][:300]
                raise FileError(f"a task failed on its worker: {reason}") from None
            raise FileError(
                f"Ray cannot go on ({in_a_line(error)[:200]}); run it again: what is done stays"
            ) from None


@contextmanager
def _cluster(options: RayOptions) -> Iterator[Any]:
    """Give Ray, connected; a cluster that was started for this job ends with it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with needing("`engine` ray", "ray"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    environment = dict.fromkeys(THREADS, "1")
    if options.address is None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    here = {"include_dashboard": False} if options.address is None else {}
    try:
        ray.init(
            options.address or "local",
            runtime_env={"env_vars": environment},
            log_to_driver=False,
            logging_level="ERROR",
            **here,
        )
    except Exception as error:  # where no process can start, `ray.init` raises no more than that
        raise FileError(
            f"no cluster of Ray at {options.address or 'this machine'} ({in_a_line(error)[:200]})"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _places(ray: Any, options: RayOptions) -> int:
    """Return how many actors fit on the nodes that are there; none is refused."""
    asked = {"CPU": options.num_cpus, "GPU": options.num_gpus}
    asked = {name: count for name, count in asked.items() if count}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    fitting = sum(
        min((math.floor(node.get(name, 0) / count + 1e-9) for name, count in asked.items()))
        for node in nodes
    )
    if not fitting:
        largest = {name: max((node.get(name, 0) for node in nodes), default=0) for name in asked}
        wanted = ", ".join(f"{count:g} {name}" for name, count in asked.items())
        most = ", ".join(f"{count:g} {name}" for name, count in largest.items())
        raise FileError(f"a task asks for {wanted}, the largest node has {most}; ask for less")
    return min(fitting, options.workers or fitting)


def _actors_do(
    ray: Any, work: Work, todo: Sequence[Shard], options: RayOptions, places: int
) -> Iterator[tuple[Shard, Done]]:
    """Give each shard to an actor that is ready; that of one that died goes to another."""
    ray.get(ray.remote(_can_import).options(num_cpus=0).remote(work))  # actors tell it late
    make = ray.remote(Work).options(
        num_cpus=options.num_cpus, num_gpus=options.num_gpus, max_restarts=0
    )
    left, tries = list(reversed(todo)), Counter[str]()
    actors: list[Any] = []
    running: dict[Any, tuple[Any, Shard | None]] = {}

    def start() -> None:
        actor = make.remote(**vars(work))
        actors.append(actor)
        running[actor.__ray_ready__.remote()] = actor, None

    try:
        for _ in range(min(places, len(todo))):
            start()
        while left or any(shard is not None for _, shard in running.values()):
            for ready in _ready(ray, list(running), options):
                actor, shard = running.pop(ready)
                try:
                    done = ray.get(ready)
                except ray.exceptions.RayActorError:
                    if shard is not None:
                        left.append(shard)
                        tries[shard.name] += 1
                    if tries.total() and tries.most_common(1)[0][1] >= _TRIES:
                        raise
                    tries["an actor"] += shard is None
                    start()
                    continue
                if shard is not None:
                    yield shard, done
                if left:
                    shard = left.pop()
                    running[actor.do.remote(shard)] = actor, shard
    finally:  # an error that is told would keep them, and their GPUs
        for actor in actors:
            ray.kill(actor)


def _ready(ray: Any, running: list[Any], options: RayOptions) -> list[Any]:
    """Wait for results; where none comes for long, look whether the cluster still has room."""
    while True:
        ready, _ = ray.wait(running, num_returns=1, timeout=_LOOK)
        if ready:
            return list(ready)
        _places(ray, options)


def _can_import(work: Work) -> None:
    """Take work, which a worker unpacks before."""
