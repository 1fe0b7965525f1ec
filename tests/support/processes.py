"""Running Python and the command line in processes of their own, as users do."""

import atexit
import functools
import gc
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_SECONDS = 900
_IMPORTED = (
    *("datasets.load", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "scipy.stats"),
    *("tabulate", "pqpp_cli.answers", "pqpp_cli.bench", "pqpp_models.bench.report"),
    *("pqpp_models.predict", "pqpp_models.text.static.predictor", "pqpp_models.verdict.verdict"),
)


def run_python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a piece of Python in a fresh interpreter, outside the checkout."""
    return run([sys.executable, "-c", code], cwd, **environment)


def run_pqpp(
    *arguments: str, cwd: Path, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run the `pqpp` command in a process of its own, its output caught.

    It is a fork of one that has imported what commands import, two seconds each time otherwise.
    What a cold process does has tests of its own, by `run_python` and `run`.
    """
    with tempfile.TemporaryDirectory() as room:
        streams = [str(Path(room, name)) for name in ("stdin", "stdout", "stderr")]
        Path(streams[0]).write_text(stdin or "")
        work = {
            "words": ["pqpp", *arguments],
            "cwd": str(cwd),
            "environment": {**os.environ, **environment},
            "streams": streams,
        }
        server = _forking()
        server.stdin.write(json.dumps(work) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        printed = [Path(stream).read_text() for stream in streams[1:]]
    return subprocess.CompletedProcess(["pqpp", *arguments], status, *printed)


def run(command: list[str], cwd: Path, stdin: str | None = None, **environment: str):
    """Run a command, its output caught."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


@functools.cache
def _forking() -> subprocess.Popen:
    """Start the process that is forked for each command; it ends with this one."""
    command = [sys.executable, str(Path(__file__).resolve())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _serve() -> None:
    """Fork for each line of standard input, and answer with the status of the fork's end."""
    _import_libraries()
    gc.freeze()
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    while line := requests.readline():
        process = os.fork()
        if process == 0:
            _become(**json.loads(line))
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _import_libraries() -> None:
    for name in _IMPORTED:
        importlib.import_module(name)


def _tell_libraries(environment: dict[str, str]) -> None:
    """Set anew what libraries read from the environment when they are imported."""
    import datasets
    from huggingface_hub import constants

    home = environment.get("HF_HOME", constants.HF_HOME)
    constants.HF_HUB_CACHE, datasets.config.HF_DATASETS_CACHE = f"{home}/hub", f"{home}/datasets"
    datasets.config.DOWNLOADED_DATASETS_PATH = f"{home}/datasets/downloads"
    offline = environment.get("HF_HUB_OFFLINE") == "1"
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = offline


def _become(words: list[str], cwd: str, environment: dict[str, str], streams: list[str]) -> None:
    """Make this process what a fresh one would be that was started for a command, and run it."""
    signal.alarm(_SECONDS)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    _tell_libraries(environment)
    sys.argv = words
    for number, path in enumerate(streams):
        handle = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(handle, number)
        os.close(handle)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(number, "w", closefd=False), encoding, write_through=True)
        for number in (1, 2)
    )
    from pqpp_cli.main import main

    status = main()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)  # to take the interpreter down would copy all that the fork shares


if __name__ == "__main__":
    _serve()
