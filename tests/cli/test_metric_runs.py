"""`pqpp metrics compute` with runs: agreement with trec_eval, tables and comparisons."""

import csv
import json

import numpy as np
import pytest

from pqpp_cli.main import main
from pqpp_files.read_table import read_table

RUN = {"q1": {"d1": 2.0, "d2": 2.0, "d3": 1.0}, "q2": {"d1": 5.0, "d4": 4.0}, "q3": {"d5": 1.0}}
OTHER = {"q1": {"d3": 3.0, "d1": 1.0}, "q2": {"d4": 9.0, "d1": 1.0}, "q3": {"d6": 1.0, "d5": 0.5}}
QRELS = {"q1": {"d1": 1, "d3": 2, "d9": 0}, "q2": {"d4": 1, "d1": 0}, "q3": {"d5": 1, "d6": -1}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, run in (("a.run", RUN), ("b.run", OTHER)):
        lines = [f"{q} Q0 {d} 0 {s} t\n" for q, docs in run.items() for d, s in docs.items()]
        (tmp_path / name).write_text("".join(lines))
    lines = [f"{q} 0 {d} {g}\n" for q, documents in QRELS.items() for d, g in documents.items()]
    (tmp_path / "q.qrels").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def compute(folder, capsys):
    def run(*words, status=0):
        assert main(["metrics", "compute", *words]) == status
        done = capsys.readouterr()
        return done.out if status == 0 else done.err

    return run


def test_csv_and_json_have_the_same_means(compute):
    words = ("p@2,rr", "--run", "a.run", "--run", "b.run", "--qrels", "q.qrels", "--format")
    runs = json.loads(compute(*words, "json"))["runs"]
    rows = list(csv.DictReader(compute(*words, "csv").splitlines()))
    means = [float(row["mean"]) for row in rows]
    assert means == [runs[row["run"]]["means"][row["measure"]]["mean"] for row in rows]
    assert len(rows) == 4


NAMES = "P_2,recip_rank,ndcg,map,Rprec,ndcg_cut_1"


def run_trec_eval(run, **options):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    return pytrec_eval.RelevanceEvaluator(QRELS, set(NAMES.split(",")), **options).evaluate(run)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_run_agrees_with_trec_eval(compute, level, judged_only):
    reference = run_trec_eval(RUN, relevance_level=level, judged_docs_only_flag=judged_only)
    options = [f"relevance_level={level}", f"judged_only={judged_only}", "ties=docno"]
    words = [word for option in options for word in ("--option", option)]
    files = ("--run", "a.run", "--qrels", "q.qrels", "--format", "json")
    result = json.loads(compute(NAMES, *files, *words))
    assert result["query_ids"] == list(QRELS)
    for name, values in result["values"].items():
        expected = [reference[query][name] for query in QRELS]
        np.testing.assert_allclose(values, expected, atol=1e-12, err_msg=name)
        assert result["means"][name]["mean"] == pytest.approx(np.mean(expected), abs=1e-12)


def test_single_metric_agrees_with_trec_eval(compute):
    reference = run_trec_eval(RUN)
    files = ("--predictions", "a.run", "--references", "q.qrels", "--option", "ties=docno")
    for name, key in (("reciprocal_rank", "recip_rank"), ("average_precision", "map")):
        result = json.loads(compute(name, *files, "--format", "json"))
        expected = [reference[query][key] for query in result["ids"]]
        np.testing.assert_allclose(result["scores"], expected, atol=1e-12)


def test_table_and_values_by_query(compute, folder):
    table = compute("rr,p@1", "--run", "a.run", "--qrels", "q.qrels", "--by-query", "by.csv")
    assert table.split()[:5] == ["measure", "mean", "ci_low", "ci_high", "n"]
    rows = list(csv.DictReader((folder / "by.csv").open()))
    assert [row["query_id"] for row in rows] == ["q1", "q2", "q3"]
    # One of two tied documents is relevant: the value is the mean of 1 and 1/2.
    assert [float(row["rr"]) for row in rows] == [0.75, 0.5, 1.0]
    compute("rr", "--run", "a.run", "--qrels", "q.qrels", "--by-query", "by.parquet")
    assert read_table(str(folder / "by.parquet")).values("rr") == [0.75, 0.5, 1.0]


def test_comparison_of_two_runs(compute, folder):
    files = ("--run", "first=a.run", "--run", "b.run", "--qrels", "q.qrels")
    result = json.loads(compute("rr,ndcg@2", *files, "--format", "json", "--by-query", "by.jsonl"))
    assert list(result["runs"]) == ["first", "b"]
    assert [row["measure"] for row in result["comparisons"]] == ["rr", "ndcg@2"]
    rows = [json.loads(line) for line in (folder / "by.jsonl").read_text().splitlines()]
    assert [(row["run"], row["query_id"]) for row in rows][2:4] == [("first", "q3"), ("b", "q1")]
    table = compute("rr,ndcg@2", *files)
    assert "p by Holm" in table and "other_run" in table
    (folder / "t.csv").write_text("query_id,doc_id,rel,x,y\nq,a,1,1,2\nq,b,0,2,1\n")
    files = ("--run", "t.csv:x", "--run", "t.csv:y", "--qrels", "t.csv", "--format", "json")
    assert list(json.loads(compute("rr", *files))["runs"]) == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rr", "--run", "a.run"], "--runs needs --qrels"),
        (["rr", "--run", "c.run", "--qrels", "q.qrels"], "--missing to zero or drop"),
    ],
)
def test_invalid_runs_are_one_line(compute, folder, words, message):
    (folder / "c.run").write_text("q1 Q0 d1 0 1 t\n")
    error = compute(*words, status=2)
    assert message in error and error.count("\n") == 1 and "Traceback" not in error
