"""The history of the speed ratios: kept by `make bench`, shown as the page benchmarks/speed.md.

    python benchmarks/speed_history.py [FILE] > benchmarks/speed.md

Where `SPEED_HISTORY` names a file, every table of a benchmark is added to it, a line of JSON a row,
with the versions, the machine and its load. A ratio is the peer's time over ours, both measured in
one run, so that it tells more than the milliseconds of a busy machine.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "speed_history.jsonl"
HEAD = """# Speed beside the peers

What `make bench` measured, newest first. A ratio is the peer's time over ours, both on the same
data in the same run: above 1 pqpp is faster; what has no peer shows its time alone. On a busy
machine times are too long and ratios are off, those of short tasks most; the load says how busy it
was. Times of metrics are CPU times of all threads, from 2026-11-24 on; the floor is what reading
the input takes, its bytes over the speed of copying memory. Every row stands in
`benchmarks/speed_history.jsonl`; `make bench` adds a run and writes this page.
"""


def keep(rows):
    """Add the rows of a table to the file that `SPEED_HISTORY` names, if it names one."""
    path = os.environ.get("SPEED_HISTORY")
    if not path:
        return
    run = _run()
    lines = [json.dumps(run | asdict(row), sort_keys=True) + "\n" for row in rows]
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def _run():
    """What a row must tell of the run that it is of."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": _git("rev-parse", "--short=10", "HEAD")
        + "+" * bool(_git("diff", "HEAD", "--", "pqpp*")),
        "pqpp": version("pqpp"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
    }


def _git(*words):
    command = ("git", "-C", ROOT, *words)
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def read(path=KEPT):
    """Return the rows of a history, oldest first."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def page(rows):
    """Return the page: a section a run, the newest first, a row a comparison.

    A run is what has one commit, date and machine; in it the last figure of a comparison stands.
    """
    runs = {}
    for row in rows:
        key = tuple(row[name] for name in ("date", "commit", "pqpp", "python", "numpy", "machine"))
        runs.setdefault(key, {})[row["task"], row["peer"]] = row
    parts = [HEAD]
    for key, found in reversed(runs.items()):
        date, commit, own, python, numpy, machine = key
        loads = sorted({row["load"] for row in found.values()})
        loads = [f"{one:g}" for one in dict.fromkeys((loads[0], loads[-1]))]
        parts.append(
            f"\n## {date}, {commit}\n\npqpp {own}, Python {python}, numpy {numpy}; {machine}, "
            f"load {' to '.join(loads)}.\n\n"
            "| task | peer | peer, ms | pqpp, ms | ratio | aim | floor, ms |\n"
            "|---|---|---:|---:|---:|---:|---:|\n"
        )
        parts += [_line(row) for row in found.values()]
    return "".join(parts)


def _line(row):
    ours, theirs = row["our_seconds"], row["peer_seconds"]
    peer, ratio = ("-", "-") if theirs is None else (f"{theirs * 1e3:.3g}", f"{theirs / ours:.2f}")
    aim = "" if row["aim"] is None else f"{row['aim']:g}"
    floor = row.get("floor_seconds")
    floor = "" if floor is None else f"{floor * 1e3:.2g}"
    figures = f"{peer} | {ours * 1e3:.3g} | {ratio} | {aim} | {floor}"
    return f"| {row['task']} | {row['peer']} | {figures} |\n"


if __name__ == "__main__":
    print(page(read(*sys.argv[1:])), end="")
