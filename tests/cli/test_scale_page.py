"""The commands of docs/scale.md for xargs and Slurm, with fewer tasks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PAGE = (Path(__file__).parents[2] / "docs/scale.md").read_text("utf-8")


@pytest.fixture
def folder(tmp_path):
    """Prompts in two files and a command `pqpp`."""
    (tmp_path / "prompts").mkdir()
    for name in "ab":
        table = pa.table({"prompt": [f"{name} photo of {n} dogs" for n in range(30)]})
        pq.write_table(table, tmp_path / f"prompts/{name}.parquet")
    (tmp_path / "pqpp").write_text(f'#!/bin/sh\nexec {sys.executable} -m pqpp_cli.main "$@"\n')
    (tmp_path / "pqpp").chmod(0o755)
    return tmp_path


def run(folder, line, **variables):
    path = {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
    subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**os.environ, **path}, check=True, timeout=900
    )


def read_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_commands_of_the_scale_page_complete_a_job(folder):
    size = "--shard-size 10"
    run(folder, f'pqpp predict --file "prompts/*.parquet" --output whole {size}')
    assert len(read_files(folder / "whole")) == 7
    xargs = re.search(r"^seq 0 15 .*$", PAGE, re.MULTILINE)[0]
    for old, new in (("seq 0 15", "seq 0 2"), ("-P 4", "-P 2"), ("/16", f"/3 {size}")):
        assert old in xargs
        xargs = xargs.replace(old, new)
    run(folder, xargs)
    slurm = re.search(r"^# Slurm.*\n(pqpp .*)$", PAGE, re.MULTILINE)[1]
    slurm = slurm.replace("/64", f"/2 {size}").replace("predicted", "slurm")
    for task in "01":
        run(folder, slurm, SLURM_ARRAY_TASK_ID=task)
    for output in ("predicted", "slurm"):
        assert read_files(folder / output) == read_files(folder / "whole")
