"""RAHF where its extra is not installed: one line says so, and what brings it."""

import pytest
from support.processes import run_python

BLOCKED = """
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None
def said(function):
    try:
        function()
    except Exception as error:
        print(type(error).__name__, str(error))
"""
CALLS = {
    "an import": "import pqpp_feedback.rahf\nsaid(lambda: pqpp_feedback.rahf.RahfConfig)",
    "a model": "from pqpp_feedback.rahf import FeedbackModel\n"
    "said(lambda: FeedbackModel.from_pretrained('nowhere'))",
}


@pytest.mark.parametrize("call", CALLS)
def test_in_python(call, tmp_path):
    done = run_python(BLOCKED + CALLS[call], tmp_path)
    (line,) = done.stdout.splitlines()
    assert line.startswith("MissingExtraError RAHF needs t") and "[models]'" in line, done.stderr


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
