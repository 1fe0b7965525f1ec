"""The script of the docs runs every package once, from prompts to a router."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[2] / "docs" / "one_loop.py"


def test_script_of_the_docs_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "work"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "4 annotators admitted" in done.stdout and "70.0%" in done.stdout
    folder = tmp_path / "work"
    assert len(list((folder / "made/images").rglob("*.png"))) == 100
    for name in ("gallery.html", "verdicts.parquet", "mine/report.html", "router/router.json"):
        assert (folder / name).is_file(), name
