"""A process that runs the code of many tests, so that each test need not start one.

`Worker` starts it and sends it work; run as a file, this is the process. Its output, errors and
log of all levels go back to the test.
"""

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Outcome:
    """The outcome of a piece of work.

    Attributes:
        value: What the code left in `result`; a command's exit status.
        stdout: The standard output.
        stderr: The standard error, without the log.
        log: Every record of the log.
        error: The traceback where an exception came out.
    """

    value: object
    stdout: str
    stderr: str
    log: str
    error: str | None

    @property
    def output(self) -> str:
        """All of it."""
        return "".join([self.stdout, self.stderr, self.log, self.error or ""])


class Worker:
    """A process that runs Python and the command line until it is closed.

    Args:
        environment: Variables that it needs, such as those of `LocalHub.environment`.
        cwd: Where it works.
    """

    def __init__(self, environment: dict[str, str], cwd: Path):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, code: str, token: str | None = "hf_tester", home: Path | None = None) -> Outcome:
        """Run Python; what it leaves in `result` comes back.

        Args:
            code: The Python.
            token: The access token, none for nobody's.
            home: Where it works and keeps what it downloads, instead of where the process does.
        """
        return self._send({"code": code, "token": token or "", "home": home and str(home)})

    def pqpp(self, *arguments: str, home: Path | None = None) -> Outcome:
        """Run the command line; `value` is its exit status."""
        return self._send({"arguments": arguments, "home": home and str(home)})

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(300)  # torch is slow to exit on a busy machine

    def _send(self, request: dict) -> Outcome:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))


class _TextHandler(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.text = io.StringIO()

    def emit(self, record):
        self.text.write(self.format(record) + "\n")


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    # Clients wait longer before each retry; tests need not.
    wait = time.sleep
    time.sleep = lambda seconds: wait(min(seconds, 0.01))
    for line in sys.stdin:
        answers.write(json.dumps(_run(**json.loads(line))) + "\n")
        answers.flush()


@contextlib.contextmanager
def _work_in(home: str | None):
    if home is None:
        yield
        return
    from huggingface_hub import constants

    cache, constants.HF_HUB_CACHE = constants.HF_HUB_CACHE, f"{home}/hub"
    with contextlib.chdir(home):
        yield
    constants.HF_HUB_CACHE = cache


def _run(
    code: str = "", arguments: tuple = (), token: str = "hf_tester", home: str | None = None
) -> dict:
    os.environ["HF_TOKEN"] = token
    log, stdout, stderr = _TextHandler(), io.StringIO(), io.StringIO()
    logging.root.addHandler(log)
    logging.root.setLevel(logging.DEBUG)
    names: dict = {"result": None}
    error = None
    redirections = contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr)
    with redirections[0], redirections[1], _work_in(home):
        try:
            if arguments:
                from pqpp_cli.main import main

                names["result"] = main(arguments)
            else:
                exec(code, names)
        except BaseException:  # reported to the test
            error = traceback.format_exc()
    logging.root.removeHandler(log)
    return {
        "value": names["result"],
        "stdout": stdout.getvalue(),
        "stderr": stderr.getvalue(),
        "log": log.text.getvalue(),
        "error": error,
    }


if __name__ == "__main__":
    _serve()
