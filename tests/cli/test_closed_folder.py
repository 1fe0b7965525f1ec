"""Folders without permissions: one-line errors, and nothing is written."""

import os
import shutil
import subprocess
import sys

import pytest


def test_folder_without_permission_is_one_line(tmp_path):
    closed, sealed = tmp_path / "closed", tmp_path / "images" / "sealed"
    closed.mkdir(mode=0o555)
    sealed.mkdir(mode=0, parents=True)
    # Root ignores permissions unless it drops its capabilities.
    user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    if user and not shutil.which("setpriv"):
        pytest.skip("setpriv takes root its rights")
    unwritable = f"--output: no permission to write to {closed}; choose another folder"
    unread = f"{sealed} cannot be read (Permission denied); allow access, or choose another folder"
    outputs = [(["a cat", "--output", name], unwritable) for name in ("o.csv", "sub/o.csv")]
    for words, message in (*outputs, (["--dataset", str(sealed.parent)], unread)):
        command = [*user, sys.executable, "-m", "pqpp_cli.main", "predict", *words]
        done = subprocess.run(command, cwd=closed, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (2, f"pqpp: error: {message}\n")
    assert not list(closed.iterdir())
