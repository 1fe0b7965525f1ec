"""Shards: cut alike everywhere, written completely or not at all, never mixed between jobs."""

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processes import is_running
from support.shard_jobs import double, exit_at_row_4

from pqpp_files.errors import FileError
from pqpp_files.shards import ShardSummary, find_shards, run_shards, select_share


def write(path, values, rows_in_group=None):
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.table({"n": list(values)}), path, row_group_size=rows_in_group or 1000)
    return str(path)


def read_files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@given(st.integers(1, 60), st.integers(1, 25), st.integers(1, 70), st.integers(1, 5))
def test_shards_contain_each_row_once_in_order(rows, group, size, parts):
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = write(pathlib.Path(folder, "n.parquet"), range(rows), group)
        shards = find_shards(path, size)
        assert [n for shard in shards for n in shard.read()["n"].to_pylist()] == list(range(rows))
        assert max(shard.rows for shard in shards) <= size
        shares = [select_share(shards, f"{i}/{parts}") for i in range(parts)]
        assert sorted(s.name for share in shares for s in share) == [s.name for s in shards]


def test_rerun_writes_missing_shards_only(tmp_path):
    shards = find_shards(write(tmp_path / "n.parquet", range(10)), 3)
    assert run_shards(double, shards, tmp_path / "out", {}) == ShardSummary(4, 0, 10, 0)
    expected = read_files(tmp_path / "out")
    (tmp_path / "out" / shards[2].name).unlink()
    assert run_shards(double, shards, tmp_path / "out", {}) == ShardSummary(1, 3, 3, 0)
    assert read_files(tmp_path / "out") == expected
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [2 * n for n in range(10)]


def test_shares_and_workers_do_not_change_the_output(tmp_path):
    shards = find_shards(write(tmp_path / "n.parquet", range(20)), 3)
    run_shards(double, shards, tmp_path / "one", {})
    run_shards(double, shards, tmp_path / "two", {}, share="0/2", workers=2)
    run_shards(double, shards, tmp_path / "two", {}, share="1/2")
    assert read_files(tmp_path / "one") == read_files(tmp_path / "two")


def test_killed_worker_is_one_line_and_outputs_stay(tmp_path):
    shards = find_shards(write(tmp_path / "n.parquet", range(8)), 2)
    with pytest.raises(FileError, match="a worker was killed"):
        run_shards(exit_at_row_4, shards, tmp_path / "out", {}, workers=2)
    outputs = [path.name for path in (tmp_path / "out").iterdir() if path.suffix == ".parquet"]
    assert shards[2].name not in outputs
    run_shards(double, shards, tmp_path / "out", {})
    assert len(read_files(tmp_path / "out")) == 5


def test_folder_of_another_job_is_refused(tmp_path):
    path = write(tmp_path / "n.parquet", range(4))
    run_shards(double, find_shards(path, 2), tmp_path / "out", {"model": "a"})
    with pytest.raises(FileError, match="was written with model = a, not b; use a new folder"):
        run_shards(double, find_shards(path, 2), tmp_path / "out", {"model": "b"})
    with pytest.raises(FileError, match="other rows or shards"):
        run_shards(double, find_shards(path, 3), tmp_path / "out", {"model": "a"})
    for settings in ("3", "["):
        (tmp_path / "out/_shards.json").write_text(f'{{"shards": [], "settings": {settings}}}')
        with pytest.raises(FileError, match=r"is damaged; use a new folder"):
            run_shards(double, find_shards(path, 2), tmp_path / "out", {"model": "a"})
    (tmp_path / "out/_shards.json").unlink()
    with pytest.raises(FileError, match="has shards but no"):
        run_shards(double, find_shards(path, 2), tmp_path / "out", {"model": "a"})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    with pytest.raises(FileError, match="contains other files"):
        run_shards(double, find_shards(path, 2), tmp_path / "mine", {})


def test_invalid_inputs_are_refused(tmp_path):
    write(tmp_path / "a.parquet", [1])
    pq.write_table(pa.table({"m": [1]}), tmp_path / "b.parquet")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/c.parquet").write_bytes(b"PAR1 no")
    write(tmp_path / "empty/e.parquet", [])
    for source in ("*.parquet", "in", "empty", "*.nothing"):
        with pytest.raises(FileError):
            find_shards(str(tmp_path / source))
    with pytest.raises(FileError, match="nowhere"):
        find_shards("nowhere://x")


def test_input_changed_midway_is_refused(tmp_path):
    path = write(tmp_path / "n.parquet", range(4))
    shards = find_shards(path, 2)
    write(tmp_path / "n.parquet", range(3))
    with pytest.raises(FileError, match="since the job began; start a new job"):
        run_shards(double, shards, tmp_path / "out", {})
    for columns in ({"n": list("abcd")}, {"n": range(4), "m": range(4)}):
        pq.write_table(pa.table(columns), path)
        with pytest.raises(FileError, match=r"since the job began \(.*\); start a new job"):
            run_shards(double, shards, tmp_path / "out", {})


def test_changed_input_is_another_job(tmp_path):
    path = write(tmp_path / "n.parquet", [1, 2, 3])
    run_shards(double, find_shards(path, 2), tmp_path / "out", {})
    write(tmp_path / "n.parquet", [7, 8, 9])
    with pytest.raises(FileError, match="other rows"):
        run_shards(double, find_shards(path, 2), tmp_path / "out", {})


def test_errors_in_existing_outputs_are_counted(tmp_path):
    def job(table):
        return table.append_column("error", pa.array([None, "bad"]))

    shards = find_shards(write(tmp_path / "n.parquet", range(6)), 2)
    assert run_shards(job, shards, tmp_path / "out", {}).errors == 3
    (tmp_path / "out" / shards[0].name).unlink()
    assert run_shards(job, shards, tmp_path / "out", {}) == ShardSummary(1, 2, 2, 3)
    (tmp_path / "out" / shards[0].name).write_text("no")
    with pytest.raises(FileError, match=r"is damaged .*; delete this file"):
        run_shards(job, shards, tmp_path / "out", {})


KILLED_PARENT_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from support.shard_jobs import WritePidAndSleep
from pqpp_files.shards import find_shards, run_shards
if __name__ == "__main__":
    shards = find_shards(sys.argv[3], 1)
    run_shards(WritePidAndSleep(sys.argv[2]), shards, sys.argv[4], {}, workers=2)
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    path = write(tmp_path / "n.parquet", range(2))
    (tmp_path / "script.py").write_text(KILLED_PARENT_SCRIPT)
    (tmp_path / "pid").mkdir()
    tests = str(Path(__file__).parents[1])
    words = [str(tmp_path / "script.py"), tests, str(tmp_path / "pid"), path, str(tmp_path / "out")]
    process = subprocess.Popen([sys.executable, *words])
    while len(workers := list((tmp_path / "pid").iterdir())) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 300
    while any(is_running(worker.name) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)
