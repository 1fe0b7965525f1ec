"""Jobs in shards: what workers bring, what memory ten million prompts take, what Ray costs.

Prompts are halves of captions joined anew (`--captions` is a table, `--column` its captions), so
that hardly one stands twice. CPU seconds are of all processes of a run, as the system counts them;
on a busy machine they say more than wall seconds, which stand beside. Memory is the sum over the
processes of a run at its highest, looked at every half second, with what they share counted once.

    OMP_NUM_THREADS=1 python benchmarks/engines_scaling.py --captions train.csv
        [--prompts 100000] [--many 10000000] [--only workers memory ray images]
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PARTS = ("workers", "memory", "ray", "images")
_FILE = 1_000_000
_RAY = """
import sys, ray
from pqpp_engines import ray_predict
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray_predict(ray.data.read_parquet(sys.argv[1]), "mean_hbpp").write_parquet(sys.argv[2])
ray.shutdown()
"""
_LENGTH = """
import sys, pyarrow.compute
from pqpp_files.shards import find_shards, run_shards
def job(table):
    return table.append_column("length", pyarrow.compute.utf8_length(table["prompt"]))
run_shards(job, find_shards(sys.argv[1]), sys.argv[2], {"job": "length"})
"""
_PLAIN = """
import sys, pyarrow.parquet as pq
from pqpp_models.predict import PredictShard
job = PredictShard("static", ("mean_hbpp",))
pq.write_table(job(pq.read_table(sys.argv[1])), sys.argv[2])
"""


def main() -> None:
    """Measure, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captions", required=True)
    parser.add_argument("--column", default="best_caption")
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--many", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.0f}, "
          f"Python {platform.python_version()}, pyarrow {version('pyarrow')}, "
          f"ray {version('ray')}\n", flush=True)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for part in options.only:
            globals()[f"measure_{part}"](options, Path(folder))


def measure_workers(options: argparse.Namespace, folder: Path) -> None:
    """Print what one worker and two take for the same prompts."""
    source = write_prompts(options, options.prompts, folder / "workers")
    size = str(options.prompts // 10)
    print("| workers | prompts | wall s | CPU s | CPU of one worker / CPU | peak MB |")
    print("|---|---|---|---|---|---|")
    first = None
    for workers in (1, 2):
        ran = run(predict(source, folder / f"out-{workers}", workers, size))
        first = first or ran.cpu
        print(f"| {workers} | {options.prompts:,} | {ran.wall:.1f} | {ran.cpu:.1f} | "
              f"{first / ran.cpu:.2f} | {ran.peak / 1e6:.0f} |", flush=True)  # fmt: skip
    print()


def measure_memory(options: argparse.Namespace, folder: Path) -> None:
    """Print the memory of small jobs and of large ones, in shards of 100,000 prompts."""
    print("| job | prompts | shards | wall s | CPU s | peak MB |\n|---|---|---|---|---|---|")
    for job, prompts in (
        ("length of the text", 100_000),
        ("length of the text", options.many),
        ("static", 100_000),
        ("static", 10 * options.prompts),
    ):
        number = len(list(folder.iterdir()))
        source = write_prompts(options, prompts, folder / f"{number}")
        output = folder / f"{number}-out"
        words = [sys.executable, "-c", _LENGTH, f"{source}/*.parquet", str(output)]
        ran = run(words if job != "static" else predict(source, output, 1, "100000"))
        print(f"| {job} | {prompts:,} | {len(list(output.glob('part-*')))} | {ran.wall:.1f} | "
              f"{ran.cpu:.1f} | {ran.peak / 1e6:.0f} |", flush=True)  # fmt: skip
    print()


def measure_ray(options: argparse.Namespace, folder: Path) -> None:
    """Print what Ray Data takes beside the plain call and the shards."""
    source = write_prompts(options, options.prompts, folder / "ray")
    file = str(next(source.iterdir()))
    print("| way | prompts | wall s | CPU s | peak MB |\n|---|---|---|---|---|")
    ways = {
        "one call in one process": [sys.executable, "-c", _PLAIN, file, str(folder / "p.parquet")],
        "pqpp predict --workers 1": predict(source, folder / "out-ray", 1, "10000"),
        "ray_predict, num_cpus=2": [sys.executable, "-c", _RAY, file, str(folder / "ray-out")],
    }
    for name, command in ways.items():
        ran = run(command)
        print(f"| {name} | {options.prompts:,} | {ran.wall:.1f} | {ran.cpu:.1f} | "
              f"{ran.peak / 1e6:.0f} |", flush=True)  # fmt: skip
    print()


def measure_images(options: argparse.Namespace, folder: Path) -> None:
    """Print what an image of 1024 x 1024 takes beside its model: written, and opened again."""
    from PIL import Image, ImageFilter

    from pqpp_engines.generate import Generator, Made, generate
    from pqpp_feedback.assess.pictures import find_pictures, open_picture

    noise = np.random.default_rng(0).integers(0, 256, (1024, 1024, 3), dtype=np.uint8)
    image = Image.fromarray(noise).filter(ImageFilter.GaussianBlur(2))  # packs as photographs do

    class Ready(Generator):
        name, settings = "ready", {}

        def make(self, wanted):
            return [Made(image) for _ in wanted]

    count = 40
    prompts = [{"prompt_id": str(n), "prompt": f"a photo of {n}"} for n in range(count)]
    begin = time.process_time()
    generate(Ready(), prompts, folder / "images", 1)
    wrote = time.process_time() - begin
    found, _ = find_pictures(folder / "images")
    size = sum(one.path.stat().st_size for one in found) / count
    begin = time.process_time()
    for one in found:
        open_picture(one.path)
    opened = time.process_time() - begin
    print("| an image of 1024 x 1024 | CPU s |\n|---|---|")
    print(f"| written by pqpp generate ({size / 1e6:.2f} MB) | {wrote / count:.3f} |")
    print(f"| opened by pqpp assess | {opened / count:.3f} |\n", flush=True)


def predict(source: Path, output: Path, workers: int, size: str) -> list[str]:
    """Return the words of a job."""
    words = [sys.executable, "-m", "pqpp_cli.main", "predict", "--file", f"{source}/*.parquet"]
    words += ["--predictor", "static", "--target", "mean_hbpp", "--output", str(output)]
    return [*words, "--shard-size", size, "--workers", str(workers)]


def write_prompts(options: argparse.Namespace, count: int, folder: Path) -> Path:
    """Write distinct prompts, a million a file: half of a caption, and half of another one."""
    from pqpp_files.read_table import read_table

    texts = read_table(options.captions).texts(options.column)
    words = [one.split() for one in texts]
    firsts = [" ".join(one[: len(one) // 2]) for one in words]
    seconds = [" ".join(one[len(one) // 2 :]) for one in words]
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, count, _FILE)):
        rows = min(_FILE, count - start)
        pairs = rng.integers(len(texts), size=(rows, 2))
        made = [f"{firsts[one]} {seconds[other]}" for one, other in pairs]
        pq.write_table(pa.table({"prompt": made}), folder / f"{number:03}.parquet")
    return folder


class Ran:
    """What a run took: seconds of the clock and of all its processes, and bytes at the most."""

    wall = cpu = peak = 0.0


def run(words: list[str]) -> Ran:
    """Run a command and look at it."""
    ran, begin = Ran(), time.perf_counter()
    # A child of its own, so that all that it waits for is counted, and nothing else.
    code = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], stdout=2).returncode;"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime);"
        "sys.exit(done)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    left: dict[int, float] = {}

    def watch() -> None:
        while process.poll() is None:
            tree = descendants(process.pid)
            ran.peak = max(ran.peak, sum(map(pss, tree)))
            left.update((one, cpu) for one in tree if (cpu := cpu_of(one)))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, error = process.communicate()
    watcher.join()
    ran.wall = time.perf_counter() - begin
    if process.returncode:
        sys.exit(error.decode()[-2000:])
    # Ray's processes are ended by others than those who began them: what was last seen counts.
    ran.cpu = max(float(out.split()[-1]), sum(left.values()))
    return ran


def descendants(number: int) -> list[int]:
    """Return the processes that came from one."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, todo = [], list(parents.get(number, ()))
    while todo:
        found.append(todo.pop())
        todo += parents.get(found[-1], ())
    return found


def pss(number: int) -> float:
    """Return the bytes of a process, what it shares with others divided among them."""
    try:
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
        return next(1024.0 * int(one.split()[1]) for one in lines if one.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0.0


def cpu_of(number: int) -> float:
    """Return the CPU seconds of a process so far."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
