"""`pqpp annotate serve` as a process."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

CODE = "import sys; from pqpp_cli.main import main; sys.exit(main(sys.argv[1:]))"


@contextlib.contextmanager
def running(folder, port, *options, answers="/health"):
    """A served study; yields the process once it answers, what it says as its `stderr`."""
    command = [sys.executable, "-c", CODE, "annotate", "serve", "study.yaml", "--port", str(port)]
    said = (
        Path(folder) / f"served-{port}.log"
    )  # a pipe that nobody reads is full after 800 requests
    with said.open("w") as file:
        process = subprocess.Popen([*command, *options], cwd=folder, stderr=file, env=environment())
    process.stderr = said.open()
    try:
        for _ in range(3000):
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{answers}", timeout=60).close()
                break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
