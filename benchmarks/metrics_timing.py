"""Timing of one task by several programs in one run, and the table that shows it."""

import functools
import statistics
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from tabulate import tabulate


@dataclass
class Row:
    """One comparison: what was computed, by whom, how fast, and the ratio that is aimed at."""

    task: str
    peer: str
    peer_seconds: float | None
    our_seconds: float
    aim: float | None = None
    floor_seconds: float | None = None


def best_time(function, repeats=5, clock=time.process_time):
    """Seconds of the fastest of several calls, after one that warms up.

    CPU time of all threads, if no other clock is given: it grows less where others work.
    """
    function()
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def read_time(*read):
    """Seconds to read some arrays, or numbers of bytes, as fast as this machine copies memory."""
    sizes = (one if isinstance(one, int) else one.nbytes for one in read)
    return sum(sizes) / _measure_copying()


@functools.cache
def _measure_copying():
    source = np.ones(1 << 26, np.uint8)
    target = np.empty_like(source)
    return source.nbytes / best_time(lambda: np.copyto(target, source))


def time_medians(functions, repeats=5):
    """Median CPU seconds of several functions that take turns, after a call that warms up.

    Where the machine is busy for a while, it is busy for all of them.
    """
    times = {function: [] for function in functions}
    for repeat in range(repeats + 1):
        for function, own in times.items():
            start = time.process_time()
            function()
            own.extend([time.process_time() - start] * (repeat > 0))
    return [statistics.median(own) for own in times.values()]


def add_version(package):
    """A package's name with its installed version."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} (not installed)"


def print_table(rows):
    """Print the comparisons as a table in Markdown."""
    head = ("task", "peer", "peer ms", "pqpp ms", "peer / pqpp", "aim", "floor ms")
    align = ("left", "left", *["right"] * 5)
    cells = [_format_cells(row) for row in rows]
    print(tabulate(cells, head, "github", disable_numparse=True, colalign=align))


def _format_cells(row):
    ours = f"{row.our_seconds * 1e3:.3g}"
    aim = "" if row.aim is None else f">= {row.aim:g}"
    floor = "" if row.floor_seconds is None else f"{row.floor_seconds * 1e3:.3g}"
    if row.peer_seconds is None:
        return row.task, row.peer, "-", ours, "-", aim, floor
    peer = f"{row.peer_seconds * 1e3:.3g}"
    ratio = f"{row.peer_seconds / row.our_seconds:.2f}"
    return row.task, row.peer, peer, ours, ratio, aim, floor
