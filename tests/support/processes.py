"""Running Python and the command line in processes of their own, as users do."""

import os
import subprocess
import sys
from pathlib import Path


def run_python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a piece of Python in a fresh interpreter, outside the checkout."""
    return run([sys.executable, "-c", code], cwd, **environment)


def run_pqpp(*arguments: str, cwd: Path, stdin: str | None = None, **environment: str):
    """Run the `pqpp` command as it is installed beside this interpreter."""
    command = Path(sys.executable).with_name("pqpp")
    return run([str(command), *arguments], cwd, stdin=stdin, **environment)


def run(command: list[str], cwd: Path, stdin: str | None = None, **environment: str):
    """Run a command, its output caught."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
