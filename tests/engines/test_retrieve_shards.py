"""`pqpp search retrieve` from shard to shard: the run of the whole, and faults as rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqpp_cli.main import main
from pqpp_engines.index.index import build_index

pytest.importorskip("faiss")


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(0)
    build_index(rng.normal(size=(90, 8)), list(map(str, range(90))), tmp_path / "index")
    queries = rng.normal(size=(40, 8)).astype("f4")
    np.save(tmp_path / "q.npy", queries)
    prompts = [f"a photo of {n} dogs" for n in range(40)]
    table = pa.table({"prompt": prompts, "embedding": list(queries)})
    pq.write_table(table, tmp_path / "q.parquet")
    return tmp_path


def read_folder(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def words(study, output, *more):
    return ["search", "retrieve", str(study / "index"), "--k", "5",
            "--file", str(study / "q.parquet"),
            "--shard-size", "6", "--output", str(study / output), *more]  # fmt: skip


def test_shards_hold_the_run_of_the_whole(study, capsys):
    queries = ["--queries", str(study / "q.npy"), "--output", str(study / "run.parquet")]
    assert main([*words(study, "x")[:7], *queries]) == 0
    for share in ("1/2", "0/2"):
        assert main(words(study, "out", "--shard", share)) == 0
    assert "3 of 7 shards" in capsys.readouterr().err
    found, whole = pq.read_table(study / "out"), pq.read_table(study / "run.parquet")
    assert found.column_names == [*whole.column_names, "error"]
    assert found.drop_columns("error").to_pylist() == whole.to_pylist()
    assert main(words(study, "two", "--workers", "2")) == 0
    assert read_folder(study / "two") == read_folder(study / "out")


def test_faults_of_queries_are_rows(study, capsys):
    good = [1.0] * 8
    embeddings = [good, None, good, [1.0], [0.0] * 8, [float("nan")] * 8, good]
    texts = ["a", "b", " ", "c", "d", "e", "f"]
    table = pa.table({"prompt_id": list("abcdefg"), "prompt": texts, "embedding": embeddings})
    pq.write_table(table, study / "q.parquet")
    assert main(words(study, "out")) == 0
    assert "rows with an error (column `error`): 5" in capsys.readouterr().err
    rows = pq.read_table(study / "out").to_pylist()
    assert [(row["query_id"], row["rank"]) for row in rows] == [
        *(("a", n) for n in range(1, 6)),
        *((one, None) for one in "bcdef"),
        *(("g", n) for n in range(1, 6)),
    ]
    size = "the embedding must have 8 numbers, like the index"
    none = "the embedding is zero or not finite"
    assert [row["error"] for row in rows if row["error"]] == [
        size, "the query is blank", size, none, none]  # fmt: skip
