"""What an annotation study costs under load: time of a save, processor time a vote, memory.

    python benchmarks/annotation_load.py --people 20 --pause 1
    python benchmarks/annotation_load.py --people 200 --pause 4
    python benchmarks/annotation_load.py --init 50000

People, each a thread, ask for an item, load its two images, and save an answer about each after a
pause, as a browser does. Processor time and memory are those of the server's process alone. With
`--init` a study of so many rows with small images is made, in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
from PIL import Image

COMMAND = "import sys; from pqpp_cli.main import main; sys.exit(main(sys.argv[1:]))"
PORT = 8765
MODELS = ("sdxl", "glide")


def write_table(folder: Path, rows: int) -> None:
    """Write so many small images, each another, and the table that names them."""
    (folder / "images").mkdir()
    with (folder / "prompts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", "image", "model"])
        for number in range(rows):
            name, item = f"{number}.png", number // len(MODELS)
            colour = (number % 256, number // 256 % 256, number // 65536)
            Image.new("RGB", (32, 32), colour).save(folder / "images" / name)
            writer.writerow([f"q{item}", f"a cat and {item} dogs", name, MODELS[number % 2]])


def command(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command of `pqpp annotate`."""
    run = [sys.executable, "-c", COMMAND, "annotate", *words]
    with (folder / "log").open("a") as log:
        return subprocess.Popen(run, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)


def processor_seconds(pid: int) -> float:
    """Return what a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mebibytes(pid: int) -> float:
    """Return the most memory that a process has had."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024


def votes(http: httpx.Client, pause: float, end: float) -> Iterator[float]:
    """Judge until a time; give the seconds of each save."""
    csrf = {"X-CSRF-Token": http.get("/api/session").json()["csrf"]}
    while time.monotonic() < end:
        task = http.get("/api/next").raise_for_status().json()["task"]
        if task is None:
            return
        for image in task["images"]:
            http.get(image["url"]).raise_for_status()
        for image in task["images"]:
            time.sleep(pause)
            answer = {"client_id": secrets.token_hex(16), "assignment": task["assignment"]}
            answer |= {"image": image["id"], "value": {"label": 2}, "seconds": pause}
            begun = time.perf_counter()
            http.post("/api/answers", json=answer, headers=csrf).raise_for_status()
            yield time.perf_counter() - begun


def joined(link: str) -> httpx.Client:
    """Return a browser that has followed a link."""
    base, _, token = link.partition("/join/")
    http = httpx.Client(base_url=base, timeout=120)
    csrf = re.search(r'name="csrf" value="([^"]+)"', http.get(f"/join/{token}").text)[1]
    http.post(f"/join/{token}", data={"csrf": csrf, "agree": "yes"})
    return http


def load(folder: Path, people: int, pause: float, seconds: float) -> str:
    """Serve a study to so many people; return what it cost, as a line."""
    write_table(folder, max(2000, int(people * seconds / pause)))
    words = ("init", "study.yaml", "--file", "prompts.csv", "--image-dir", "images")
    assert command(folder, *words).wait() == 0, (folder / "log").read_text()
    server = command(folder, "serve", "study.yaml", "--port", str(PORT))
    try:
        invited = command(folder, "invite", "study.yaml", "--count", str(people))
        links = re.findall(r"/join/\S+", invited.communicate()[0])
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{PORT}/health", timeout=60)
                break
            except httpx.TransportError:
                time.sleep(0.2)
        browsers = [joined(f"http://127.0.0.1:{PORT}{link}") for link in links]
        before, end, saves, faults = (
            processor_seconds(server.pid),
            time.monotonic() + seconds,
            [],
            [],
        )

        def work(http: httpx.Client) -> None:
            time.sleep(pause * secrets.randbelow(1000) / 1000)
            try:
                saves.extend(votes(http, pause, end))
            except httpx.HTTPError as error:
                faults.append(error)

        threads = [threading.Thread(target=work, args=(http,)) for http in browsers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used, peak = processor_seconds(server.pid) - before, peak_mebibytes(server.pid)
    finally:
        server.terminate()
        server.wait()
    median, high = np.percentile(saves, (50, 95)) * 1000
    return (
        f"{people} people, {pause:g} s: {len(saves)} votes, {len(faults)} errors, save p50 "
        f"{median:.0f} ms, p95 {high:.0f} ms; server {1000 * used / len(saves):.1f} ms of "
        f"processor a vote with its image, {peak:.0f} MiB at most"
    )


def init(folder: Path, rows: int) -> str:
    """Make a study of so many rows; return what it cost, as a line."""
    write_table(folder, rows)
    words = ("init", "study.yaml", "--file", "prompts.csv", "--image-dir", "images")
    assert command(folder, *words).wait() == 0, (folder / "log").read_text()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return f"init of {rows:,} rows: {seconds:.1f} s of processor, {peak:.0f} MiB at most"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line, and the load of the machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--init", type=int)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.init:
            line = init(folder, options.init)
        else:
            line = load(folder, options.people, options.pause, options.seconds)
    print(f"{line}; load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
