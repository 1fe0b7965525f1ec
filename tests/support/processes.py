"""Runs Python and the command line in separate processes, as users do."""

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
import traceback
from pathlib import Path

_SECONDS = 900
_COMMAND_LIBRARIES = (
    *("datasets.load", "nltk.tokenize", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet"),
    *("scipy.stats", "tabulate", "pqpp_cli.answers", "pqpp_cli.bench", "pqpp_models.bench.report"),
    *("pqpp_models.predict", "pqpp_models.text.static", "pqpp_models.verdict.verdict"),
)


_LARGE_LIBRARIES = (
    *("pandas", "pyarrow.dataset", "scipy.stats", "sklearn.metrics", "torch._dynamo"),
    *("torch.distributed.tensor", "torch.onnx"),
)


def run_python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a piece of Python in a fresh interpreter, outside the checkout."""
    return run([sys.executable, "-c", code], cwd, **environment)


def run_warm(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a piece of Python as `run_python` does, but faster.

    It is a fork of a process that has imported large libraries such as torch, but neither this
    package nor those that it registers with: `datasets`, `evaluate` and `transformers`.
    """
    return _run_in_fork(_LARGE_LIBRARIES, ["-c", code], cwd, "", environment)


def run_pqpp(
    *arguments: str, cwd: Path, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run the `pqpp` command in a separate process, and capture its output.

    It is a fork of a process that has imported the modules of commands, which saves two seconds.
    Tests of a new process use `run_python` and `run`.
    """
    return _run_in_fork(_COMMAND_LIBRARIES, ["pqpp", *arguments], cwd, stdin or "", environment)


def _run_in_fork(libraries, words, cwd, stdin, environment) -> subprocess.CompletedProcess:
    """Run a command, or the code of `-c`, in a fork of a process that has imported libraries."""
    with tempfile.TemporaryDirectory() as folder:
        streams = [str(Path(folder, name)) for name in ("stdin", "stdout", "stderr")]
        Path(streams[0]).write_text(stdin)
        request = {
            "words": words,
            "cwd": str(cwd),
            "environment": {**os.environ, **environment},
            "streams": streams,
        }
        server = _start_server(libraries)
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        outputs = [Path(stream).read_text() for stream in streams[1:]]
    return subprocess.CompletedProcess(words, status, *outputs)


def run(command: list[str], cwd: Path, stdin: str | None = None, **environment: str):
    """Run a command, and capture its output."""
    extra = {"input": stdin or "", "capture_output": True, "text": True, "timeout": _SECONDS}
    return subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=False, **extra)


def is_running(pid: int | str) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@functools.cache
def _start_server(libraries: tuple[str, ...]) -> subprocess.Popen:
    """Start the process that is forked for each command; it ends with this one."""
    command = [sys.executable, str(Path(__file__).resolve()), *libraries]
    environment = os.environ | ({"PQPP_NO_AUTOLOAD": "1"} if libraries is _LARGE_LIBRARIES else {})
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, env=environment)


def _serve() -> None:
    """Fork for each line of standard input, and answer with the status of the fork's end."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    while line := requests.readline():
        process = os.fork()
        if process == 0:
            _execute(**json.loads(line))
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _update_libraries(environment: dict[str, str]) -> None:
    """Update the settings that libraries read from the environment on import."""
    if "datasets" not in sys.modules:
        return
    import datasets
    import nltk
    from huggingface_hub import constants

    nltk.data.path[:] = environment.get("NLTK_DATA", "").split(os.pathsep)
    home = environment.get("HF_HOME", constants.HF_HOME)
    constants.HF_HUB_CACHE, datasets.config.HF_DATASETS_CACHE = f"{home}/hub", f"{home}/datasets"
    datasets.config.DOWNLOADED_DATASETS_PATH = f"{home}/datasets/downloads"
    offline = environment.get("HF_HUB_OFFLINE") == "1"
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = offline


def _execute(words: list[str], cwd: str, environment: dict[str, str], streams: list[str]) -> None:
    """Give this process the state of a new process for a command, and run the command."""
    signal.alarm(_SECONDS)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    _update_libraries(environment)
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
    status = _run_code(words[1]) if words[0] == "-c" else _run_command()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)  # the interpreter's own end would copy all memory that the fork shares


def _run_command() -> int:
    from pqpp_cli.main import main

    return main()


def _run_code(code: str) -> int:
    """Run code as `python -c` does, and return its status."""
    import pqpp_autoload

    sys.path[:1] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    pqpp_autoload.start()  # as an interpreter does when it starts
    try:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _serve()
