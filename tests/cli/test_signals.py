"""Ctrl-C from the first moment of ours: one line, and 130."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HANDED_OVER = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from pqpp_cli.main import main
sys.exit(main(["predict", "a cat"]))
"""


@pytest.mark.parametrize(
    "module",
    [
        *("pqpp_cli.commands", "argparse", "pqpp_cli.predict", "pqpp_cli.command", "numpy"),
        *("pqpp_cli.output", "pqpp_files.options.recipe", "pqpp_models.predictor"),
    ],
)
def test_an_interrupt_while_something_is_imported_is_one_line(module, tmp_path):
    code = HANDED_OVER.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "pqpp: interrupted\n"), done.stderr


def test_an_interrupt_at_any_time_shows_no_line_of_ours(tmp_path):
    """What Python itself does before it comes to us is not ours."""
    pqpp = str(Path(sys.executable).with_name("pqpp"))
    ends = []
    for milliseconds in (50, 100, 150, 250, 400, 700):
        process = subprocess.Popen(
            [pqpp, "predict", "a cat"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONFAULTHANDLER": ""},
        )
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
        ends.append((process.returncode, error))
        assert "pqpp_cli/predict" not in error and "pqpp_models" not in error, error
    assert {code for code, _ in ends} <= {0, 130, -2, 1}
