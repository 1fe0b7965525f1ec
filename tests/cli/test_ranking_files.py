"""`pqpp metrics compute`: runs and judgments as tables with one row per document."""

from pathlib import Path

import pandas as pd
import pytest

from pqpp_files.write_table import encode_table

RUN = [("q1", "d1", 0.9), ("q1", "d2", 0.8), ("q1", "d3", 0.7)]
RUN += [("q2", "d1", 0.5), ("q2", "d4", 0.9)]
QRELS = [("q1", "d2", 1), ("q1", "d9", 1), ("q2", "d4", 2), ("q2", "d1", 0)]


@pytest.fixture(autouse=True)
def _files(compute):
    """Write the run and judgments in TREC's format to the test's folder."""
    Path("a.run").write_text("".join(f"{q} Q0 {d} 0 {s} t\n" for q, d, s in RUN))
    Path("a.qrels").write_text("".join(f"{q} 0 {d} {r}\n" for q, d, r in QRELS))


METRICS = ["ndcg", "precision_at_k"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("metric", METRICS)
def test_tables_agree_with_trec_files(compute, kind, metric):
    run = pd.DataFrame(RUN, columns=["query_id", "doc_id", "score"])
    qrels = pd.DataFrame(QRELS, columns=["query_id", "doc_id", "rel"])
    both = run.merge(qrels, "outer", ["query_id", "doc_id"])
    qrels = qrels.rename(columns={"query_id": "prompt_id", "doc_id": "image"})
    for name, frame in (("run", run), ("qrels", qrels), ("both", both)):
        Path(f"{name}.{kind}").write_bytes(encode_table(kind, frame.to_dict("list")))
    expected = compute(metric, "--predictions", "a.run", "--references", "a.qrels")[1]
    for files in (
        (f"run.{kind}", f"qrels.{kind}"),
        ("a.run", f"qrels.{kind}"),
        (f"run.{kind}:score", "a.qrels"),
        (f"both.{kind}", f"both.{kind}"),
    ):
        note, result = compute(metric, "--predictions", files[0], "--references", files[1])
        scores = dict(zip(result["ids"], result["scores"], strict=True))
        assert scores == pytest.approx(dict(zip(expected["ids"], expected["scores"], strict=True)))
        assert note == ""


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q,a,.9,1\nq,a,.8,0\n", "b.csv, line 3: document a appears twice in query q"),
        ("q,a,.9,\np,a,,1\n", "1 query in the judgments has no documents in the run (p)"),
    ],
)
def test_invalid_rows_are_located(compute, rows, message):
    Path("b.csv").write_text("query_id,doc_id,score,rel\n" + rows)
    error, _ = compute("ndcg", "--predictions", "b.csv", "--references", "b.csv", status=2)
    assert message in error and "\n" not in error
