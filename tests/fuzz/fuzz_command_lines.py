"""Command lines with whatever comes: status 0 or 2, one line for what is wrong, nothing lost.

A case runs in a fork of a process that has imported everything, with no network, a token in its
environment, and limits on time and memory. `python -m fuzz.fuzz_command_lines CASE` in `tests`
shows one case.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from fuzz.command_lines.words import line_of

TOKEN = "hf_" + "tOkEnOfNoBoDy" * 3
_TESTS = Path(__file__).resolve().parents[1]


def fault_of(case: int) -> str | None:
    """Run the command line of a case, and say in one line what is wrong, if anything."""
    return seen(case)["fault"]


def seen(case: int) -> dict:
    """Run the command line of a case, and return the words, what came of it and the fault."""
    server = _server("light" if line_of(case)[0] == "light" else "torch")
    server.stdin.write(f"{case}\n")
    server.stdin.flush()
    while line := server.stdout.readline():
        if line.startswith('{"case": '):
            return json.loads(line)
    raise RuntimeError(f"the process that runs the cases ended at case {case}")


@cache
def _home() -> Path:
    """Return a folder that goes with this process, with the models that cases copy."""
    home = tempfile.TemporaryDirectory(prefix="pqpp-fuzz-")
    atexit.register(home.cleanup)
    made = _started("fill", Path(home.name))
    made.communicate()
    if made.returncode:
        raise RuntimeError("the models that cases copy could not be made")
    return Path(home.name)


@cache
def _server(kind: str) -> subprocess.Popen:
    """Start a process to fork cases from: `light`, which forks sooner, or `torch`."""
    server = _started(kind, _home())

    def end() -> None:
        server.stdin.close()
        server.wait(60)

    atexit.register(end)
    return server


def _started(kind: str, home: Path) -> subprocess.Popen:
    """Start a process with an environment that is no user's."""
    environment = {name: os.environ[name] for name in ("PATH", "NLTK_DATA") if name in os.environ}
    environment |= {
        "HOME": str(home),
        "TMPDIR": str(home),
        "HF_TOKEN": TOKEN,
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent)]),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "fuzz.command_lines.server", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=_TESTS,
        text=True,
    )


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        for name, value in seen(number).items():
            print(f"{name}: {value}")
