"""A folder that may not be written to: one line that names it, and nothing is written."""

import os
import shutil
import subprocess
import sys

import pytest


def test_a_folder_without_write_permission_is_one_line(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    # Root may write anywhere, but for this.
    user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    if user and not shutil.which("setpriv"):
        pytest.skip("setpriv takes root its rights")
    for name in ("o.csv", "sub/o.csv"):
        command = [sys.executable, "-m", "pqpp_cli.main", "predict", "a cat", "--output", name]
        done = subprocess.run([*user, *command], cwd=closed, capture_output=True, text=True)
        said = f"pqpp: error: --output: no permission to write to {closed}; name another folder\n"
        assert (done.returncode, done.stderr) == (2, said)
    assert not list(closed.iterdir())
