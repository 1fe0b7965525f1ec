"""Object stores: outputs are complete or absent, and have the bytes of a local folder."""

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shard_jobs import double

from pqpp_files.errors import FileError
from pqpp_files.shards import ShardStore, ShardSummary, cut_table, find_shards, run_shards


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


def test_output_in_object_stores_equals_a_folder(memory, tmp_path):
    with memory.open("/in/n.parquet", "wb") as file:
        pq.write_table(pa.table({"n": range(10)}), file)
    shards = find_shards("memory://in/n.parquet", 3)
    summary = run_shards(double, shards, "memory://out", {"a": 1})
    assert summary == ShardSummary(4, 0, 10, 0)
    memory.rm(f"/out/{shards[1].name}")
    assert run_shards(double, shards, "memory://out", {"a": 1}) == ShardSummary(1, 3, 3, 0)
    run_shards(double, shards, tmp_path, {"a": 1})
    remote = {path.rpartition("/")[2]: memory.cat(path) for path in memory.ls("/out", detail=False)}
    assert remote == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileError, match=r"memory://out was written with a = 1, not 2"):
        run_shards(double, shards, "memory://out", {"a": 2})
    with pytest.raises(FileError, match=r"memory://in contains an input"):
        run_shards(double, shards, "memory://in", {})


def test_failed_jobs_and_second_writers_write_nothing(memory):
    def fail(table):
        raise FileError("in the middle")

    shards = cut_table(pa.table({"n": range(4)}), 2)
    with pytest.raises(FileError, match="in the middle"):
        run_shards(fail, shards, "memory://out", {})
    assert not memory.exists("/out")

    def write_then_return(table):  # another process writes the shard while this one works
        ShardStore("memory://out").write_new(shards[0].name, b"the other's")
        return table

    summary = run_shards(write_then_return, shards, "memory://out", {})
    assert (summary.shards, summary.skipped) == (1, 1)
    assert memory.cat(f"/out/{shards[0].name}") == b"the other's"


def test_hub_repositories_are_refused_as_output():
    with pytest.raises(FileError, match="hf upload-large-folder"):
        run_shards(double, cut_table(pa.table({"n": [1]}), 1), "hf://datasets/me/out", {})
