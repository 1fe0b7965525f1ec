"""Command lines with whatever comes: status 0 or 2, one line for what is wrong, nothing lost.

A case runs in a fork of a process that has imported everything, or in one of its own, with no
network, a token in its environment, and limits on time and memory.
`python -m fuzz.fuzz_command_lines CASE` in `tests` shows one case.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from fuzz.command_lines.words import command_of, kinds, needs_torch

TOKEN = "hf_" + "tOkEnOfNoBoDy" * 3
_TESTS = Path(__file__).resolve().parents[1]
_FAULTS = (None, 500, "cut", "nonsense", "empty", "wait 0")


def fault_of(case: int) -> str | None:
    """Run the command line of a case, and say in one line what is wrong, if anything."""
    return seen(case)["fault"]


def counted_fault_of(case: int) -> tuple[str | None, str, list[str]]:
    """Return the fault of a case, its command, and how that was called."""
    told = seen(case)
    how = {"done": told["status"] == 0, "in a process": told["real"], told["manner"]: told["real"]}
    return told["fault"], command_of(case), [name for name, is_so in how.items() if is_so]


def called() -> list[str]:
    """Return the commands that can do what they are for without the Hub and large data."""
    return [
        name for name, kind in kinds().items() if kind and not name.endswith(("push", "richhf"))
    ]


def seen(case: int) -> dict:
    """Run the command line of a case, and return the words, what came of it and the fault."""
    faults = Random(f"chat {case}").choices(_FAULTS, (40, *[1] * 5), k=9)
    _asked(_server("chat"), json.dumps(faults))
    server = _server("torch" if needs_torch(command_of(case)) else "light")
    return json.loads(_asked(server, f"{case}"))


def _asked(server: subprocess.Popen, line: str) -> str:
    """Tell a process a line, and return its answer."""
    server.stdin.write(f"{line}\n")
    server.stdin.flush()
    while said := server.stdout.readline():
        if said.startswith('{"case": '):
            return said
    raise RuntimeError(f"the process that runs the cases ended at {line}")


@cache
def _home() -> Path:
    """Return a folder that goes with this process, with the models that cases copy."""
    home = tempfile.TemporaryDirectory(prefix="pqpp-fuzz-")
    atexit.register(home.cleanup)
    made = _started("fill", Path(home.name), {})
    made.communicate()
    if made.returncode:
        raise RuntimeError("the models that cases copy could not be made")
    return Path(home.name)


@cache
def _server(kind: str) -> subprocess.Popen:
    """Start a process to fork cases from: `light`, which forks sooner, or `torch`."""
    chat = (
        {}
        if kind == "chat"
        else {"PQPP_FUZZ_CHAT": json.loads(_asked(_server("chat"), "[]"))["url"]}
    )
    server = _started(kind, _home(), chat)

    def end() -> None:
        server.stdin.close()
        server.wait(60)

    atexit.register(end)
    return server


def _started(kind: str, home: Path, more: dict[str, str]) -> subprocess.Popen:
    """Start a process with an environment that is no user's."""
    environment = {name: os.environ[name] for name in ("PATH", "NLTK_DATA") if name in os.environ}
    environment |= {
        "HOME": str(home),
        "TMPDIR": str(home),
        "HF_TOKEN": TOKEN,
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "127.0.0.1,localhost",
        "BROWSER": "true",
        "PQPP_CHAT_KEY": TOKEN,
        "PQPP_IMAGES_KEY": TOKEN,
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent)]),
    }
    environment |= more
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "fuzz.command_lines.server", kind],
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
