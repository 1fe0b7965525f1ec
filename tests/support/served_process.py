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
def run_server(folder, port, *options, path="/health"):
    """Serve a study; yield the process once it answers, with its log as `stderr`."""
    command = [sys.executable, "-c", CODE, "annotate", "serve", "study.yaml", "--port", str(port)]
    log = Path(folder) / f"served-{port}.log"  # a pipe that nobody reads is full after 800 requests
    with log.open("w") as file:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen([*command, *options], cwd=folder, stderr=file, env=environment)
    process.stderr = log.open()
    try:
        for _ in range(3000):
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60).close()
                break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
