"""`pqpp search retrieve` by shards: equal to a single run, with invalid queries as rows."""

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


def make_arguments(study, output, *more):
    return ["search", "retrieve", str(study / "index"), "--k", "5",
            "--file", str(study / "q.parquet"),
            "--shard-size", "6", "--output", str(study / output), *more]  # fmt: skip


def test_shards_equal_a_single_run(study, capsys):
    queries = ["--queries", str(study / "q.npy"), "--output", str(study / "run.parquet")]
    assert main([*make_arguments(study, "x")[:7], *queries]) == 0
    (study / "qrels.txt").write_text("".join(f"{n} 0 {n} 1\n" for n in range(40)))
    score = ["metrics", "compute", "p@5,rr", "--qrels", str(study / "qrels.txt"), "--run"]
    for share in ("1/2", "0/2"):
        assert main(make_arguments(study, "out", "--shard", share)) == 0
        error = capsys.readouterr().err
        assert main([*score, str(study / "out")]) == (2 if share == "1/2" else 0)
    assert "3 of 7 shards" in error
    sharded_scores = capsys.readouterr().out
    assert main([*score, str(study / "run.parquet")]) == 0
    assert capsys.readouterr().out == sharded_scores
    sharded, single = pq.read_table(study / "out"), pq.read_table(study / "run.parquet")
    assert sharded.column_names == [*single.column_names, "error"]
    assert sharded.drop_columns("error").to_pylist() == single.to_pylist()
    assert main(make_arguments(study, "two", "--workers", "2")) == 0
    assert read_folder(study / "two") == read_folder(study / "out")


def test_invalid_queries_are_rows_with_an_error(study, capsys):
    valid = [1.0] * 8
    embeddings = [valid, None, valid, [1.0], [0.0] * 8, [float("nan")] * 8, valid]
    texts = ["a", "b", " ", "c", "d", "e", "f"]
    table = pa.table({"prompt_id": list("abcdefg"), "prompt": texts, "embedding": embeddings})
    pq.write_table(table, study / "q.parquet")
    assert main(make_arguments(study, "out")) == 0
    assert "rows with an error (column `error`): 5" in capsys.readouterr().err
    rows = pq.read_table(study / "out").to_pylist()
    assert [(row["query_id"], row["rank"]) for row in rows] == [
        *(("a", n) for n in range(1, 6)),
        *((one, None) for one in "bcdef"),
        *(("g", n) for n in range(1, 6)),
    ]
    size_error = "the embedding must have 8 numbers, like the index"
    zero_error = "the embedding is zero or not finite"
    assert [row["error"] for row in rows if row["error"]] == [
        size_error, "the query is blank", size_error, zero_error, zero_error]  # fmt: skip
