"""A folder that may not be written to: one line that names it, and nothing is written."""

import os
import shutil
import subprocess
import sys

import pytest


def without_rights():
    """Return the words by which a command runs without the rights of root."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):  # who may write anywhere, but for this
        pytest.skip("setpriv takes root its rights")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def test_a_folder_without_write_permission_is_one_line(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    user = without_rights()
    for name in ("o.csv", "sub/o.csv"):
        command = [sys.executable, "-m", "pqpp_cli.main", "predict", "a cat", "--output", name]
        done = subprocess.run([*user, *command], cwd=closed, capture_output=True, text=True)
        said = f"pqpp: error: --output {closed} cannot be written to; name another folder\n"
        assert (done.returncode, done.stderr) == (2, said)
    assert not list(closed.iterdir())
