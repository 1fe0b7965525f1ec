"""RAHF where its extra is not installed: one line says so, and what brings it."""

import pytest
from support.processes import run_python

BLOCKED = """
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None
"""


COMMANDS = {
    "pqpp assess rahf": ["assess", "rahf", "--image-dir", ".", "--model", "nowhere"],
    "pqpp bench richhf": ["bench", "richhf", "--models", "nowhere"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(command, tmp_path):
    code = f"from pqpp_cli.main import main\nsys.exit(main({COMMANDS[command]!r}))"
    done = run_python(BLOCKED + code, tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith(f"pqpp: error: {command} needs torch; run:")
    assert list(tmp_path.iterdir()) == []
