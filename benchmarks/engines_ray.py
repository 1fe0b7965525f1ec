"""Ray beside the local pool: CPU of all processes, start apart, and the driver's memory.

Prompts are halves of captions joined anew (`--captions` is a text file, one a line), so that hardly
one stands twice. CPU seconds are of all processes of a run, those of a cluster of its own among
them, looked at ten times a second. What two shards of 100 prompts take is the start.

    OMP_NUM_THREADS=1 python benchmarks/engines_ray.py --captions captions.txt
        [--prompts 60000] [--many 10000000] [--only cpu memory]
"""

import argparse
import contextlib
import ctypes
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

_REAPS = 36  # PR_SET_CHILD_SUBREAPER: a cluster's processes become children of this one
_FILE = 1_000_000


def main() -> None:
    """Measure, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captions", required=True)
    parser.add_argument("--prompts", type=int, default=60_000)
    parser.add_argument("--many", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="+", default=("cpu", "memory"))
    parser.add_argument("--drive", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        return drive(*options.drive)
    ctypes.CDLL(None).prctl(_REAPS, 1)
    with tempfile.TemporaryDirectory() as folder:
        for part in options.only:
            {"cpu": measure_cpu, "memory": measure_memory}[part](options, Path(folder))


def measure_cpu(options: argparse.Namespace, folder: Path) -> None:
    """Print what the pool and Ray take for few prompts and for many."""
    print("| engine | start, CPU s | all, CPU s | all less start |\n|---|---|---|---|")
    for engine in ("local", "ray"):
        spent = []
        for count in (200, options.prompts):
            source = write_prompts(options, count, folder / f"{count}.parquet")
            size = str(max(count // 10, 100))
            words = ["predict", "--file", str(source), "--output", str(folder / f"{engine}{count}"),
                     "--target", "mean_hbpp", "--shard-size", size, "--workers", "2",
                     "--engine", engine]  # fmt: skip
            spent.append(cpu_of([sys.executable, "-m", "pqpp_cli", *words]))
        start, every = spent
        print(f"| {engine} | {start:.1f} | {every:.1f} | {every - start:.1f} |", flush=True)


def measure_memory(options: argparse.Namespace, folder: Path) -> None:
    """Print the driver's memory for shards that count the letters of each prompt."""
    source = folder / "many"
    source.mkdir()
    first = write_prompts(options, min(_FILE, options.many), source / "0.parquet")
    for number in range(1, -(-options.many // _FILE)):
        (source / f"{number}.parquet").hardlink_to(first)
    words = [sys.executable, __file__, "--captions", "", "--drive", str(source)]
    print(f"\n{options.many:,} prompts in shards of 100,000: CPU s, all processes "
          f"{cpu_of([*words, str(folder / 'out')]):.1f}", flush=True)  # fmt: skip


def lengths(table: pa.Table) -> pa.Table:
    """Count the letters of prompts: a job that takes little beside reading and writing."""
    return table.append_column("length", pa.compute.utf8_length(table["prompt"]))


def drive(source: str, output: str) -> None:
    """Do shards on Ray, and print what this process had in memory at the most."""
    import engines_ray  # by its name, so that workers can import the job

    from pqpp_files.shards import find_shards, run_shards

    done = run_shards(engines_ray.lengths, find_shards(source), output, {}, engine="ray")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{done.shards} shards, {done.rows:,} rows; driver at most {peak:.0f} MiB", flush=True)


def cpu_of(words: list[str]) -> float:
    """Run a command; return the CPU seconds of it and of all that it started."""
    running, spent = subprocess.Popen(words), {}
    while running.poll() is None:  # Ray waits for no worker, so that the system keeps no sum
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                spent[process.pid, process.create_time()] = times.user + times.system
        time.sleep(0.1)
    return sum(spent.values())


def write_prompts(options: argparse.Namespace, count: int, path: Path) -> Path:
    """Write so many prompts."""
    if path.exists():
        return path
    words = [text.split() for text in Path(options.captions).read_text("utf-8").splitlines()]
    first, second = (np.random.default_rng(0).integers(len(words), size=(2, count))).tolist()
    texts = [
        " ".join(words[one][: len(words[one]) // 2] + words[other][len(words[other]) // 2 :])
        for one, other in zip(first, second, strict=True)
    ]
    pq.write_table(pa.table({"prompt": texts}), path)
    return path


if __name__ == "__main__":
    main()
