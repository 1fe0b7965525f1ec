"""The local engine: shards in this process, or in a pool of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from pqpp_files.errors import FileError
from pqpp_files.shards.cut import AnyShard

if TYPE_CHECKING:
    from pqpp_files.shards.work import Done, Work

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_WORK: list[Work] = []  # in a worker, what it works on


def done_here(
    work: Work, todo: Sequence[AnyShard], workers: int
) -> Iterator[tuple[AnyShard, Done]]:
    """Do shards, in this process or in others; gives each with what came of it."""
    if workers == 1 or len(todo) < 2:
        for shard in todo:
            yield shard, work.do(shard)
        return
    before = {name: os.environ[name] for name in THREADS if name in os.environ}
    os.environ |= dict.fromkeys(THREADS, "1")  # new processes take it over before they import
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
        for name in THREADS:
            del os.environ[name]
        os.environ |= before


def _begin(work: Work) -> None:
    _WORK[:] = [work]
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when the process that started it has been killed; it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(shard: AnyShard) -> Done:
    return _WORK[0].do(shard)
