"""`pqpp metrics`: from files, without Python."""

import json

import pandas as pd
import pytest
from scipy import stats
from support.processes import run_pqpp
from support.worker import Worker

from pqpp_metrics.registration import list_metrics


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    place = tmp_path_factory.mktemp("metrics")
    running = Worker({"HF_HOME": str(place / "hf"), "HF_HUB_OFFLINE": "1"}, place)
    yield running
    running.close()


@pytest.fixture
def pqpp(worker, tmp_path):
    """Run `pqpp metrics` in the test's folder."""

    def run(*arguments):
        done = worker.pqpp("metrics", *arguments, home=tmp_path)
        assert done.error is None, done.error
        return done

    return run


@pytest.fixture
def compute(pqpp):
    def run(*arguments):
        done = pqpp("compute", *arguments, "--format", "json")
        assert done.value == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_list_and_show_name_every_metric(pqpp):
    listed = pqpp("list").stdout
    assert all(name in listed for name in list_metrics())
    shown = pqpp("show", "pqpp/kendall_qpp").stdout
    assert shown.startswith("# Kendall") and "tau-b" in shown


def test_as_a_command_of_its_own(tmp_path):
    (tmp_path / "p.csv").write_text("p\n1\n2\n3\n")
    files = ("--predictions", "p.csv", "--references", "p.csv")
    home = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    done = run_pqpp("metrics", "compute", "pearson_qpp", *files, cwd=tmp_path, **home)
    assert done.returncode == 0 and "pearson_qpp" in done.stdout, done.stderr


PREDICTED, TRUE = [0.3, 0.1, 0.9, 0.5, 0.4], [1.0, 2.0, 5.0, 4.0, 3.0]


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_pairs_from_every_format(tmp_path, compute, kind):
    frame = pd.DataFrame({"id": list("abcde"), "predicted": PREDICTED, "true": TRUE})
    path = tmp_path / f"both.{kind}"
    write = {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "json": lambda: frame.to_json(path, orient="records"),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "parquet": lambda: frame.to_parquet(path),
    }
    write[kind]()
    found = compute(
        "kendall_qpp", "--predictions", f"{path}:predicted", "--references", f"{path}:true"
    )
    expected = stats.kendalltau(PREDICTED, TRUE)
    assert found["kendall_qpp"] == pytest.approx(expected.statistic)
    assert found["p_value"] == pytest.approx(expected.pvalue) and found["n"] == 5


def test_columns_are_found_without_a_name(tmp_path, compute):
    pd.DataFrame({"anything": PREDICTED}).to_csv(tmp_path / "p.csv", index=False)
    pd.DataFrame({"x": ["a"] * 5, "references": TRUE}).to_csv(tmp_path / "r.csv", index=False)
    found = compute("pearson_qpp", "--predictions", "p.csv", "--references", "r.csv")
    assert found["pearson_qpp"] == pytest.approx(stats.pearsonr(PREDICTED, TRUE).statistic)


RUN = "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.8 t\nq1 Q0 d3 3 0.7 t\nq2 Q0 d1 1 0.5 t\nq2 Q0 d4 2 0.9 t\n"
QRELS = "q1 0 d2 1\nq1 0 d9 1\nq2 0 d4 2\nq2 0 d1 0\n"


def test_trec_files(tmp_path, compute):
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "qrels.trec").write_text(QRELS)
    files = ("--predictions", "run.trec", "--references", "qrels.trec")
    assert compute("reciprocal_rank", *files)["scores"] == [0.5, 1.0]
    assert compute("precision_at_k", *files, "--option", "k=2")["scores"] == [0.5, 0.5]


def test_query_on_one_side(tmp_path, compute, pqpp):
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "qrels.trec").write_text(QRELS + "q3 0 d1 1\n")
    files = ("--predictions", "run.trec", "--references", "qrels.trec")
    done = pqpp("compute", "reciprocal_rank", *files)
    assert done.value == 2 and "q3" in done.stderr and done.stderr.count("\n") == 1
    assert compute("reciprocal_rank", *files, "--missing", "zero")["scores"] == [0.5, 1.0, 0.0]
    assert compute("reciprocal_rank", *files, "--missing", "drop")["scores"] == [0.5, 1.0]


def test_other_inputs_and_lists(tmp_path, compute):
    votes = [{"labels": [2, 2, 1], "prompt_ids": "a"}, {"labels": [0, 0, 2], "prompt_ids": "b"}]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, votes)))
    found = compute("hbpp", "--input", "labels=v.jsonl", "--input", "prompt_ids=v.jsonl")
    assert found["prompt_ids"] == ["a", "b"] and found["scores"] == pytest.approx([5 / 3, 0.0])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["kendal_qpp"], "did you mean 'pqpp/kendall_qpp'"),
        (["kendall_qpp"], "predictions is missing; give --predictions FILE --references FILE"),
        (["kendall_qpp", "--input", "labels=a.csv"], "labels is no input"),
        (["kendall_qpp", "--input", "labels"], "NAME=VALUE is needed"),
        (["kendall_qpp", "--predictions", "a.csv:z", "--references", "a.csv:x"], "no column 'z'"),
        (["kendall_qpp", "--predictions", "a.csv", "--references", "a.csv"], "name one by a.csv:"),
        (["kendall_qpp", "--predictions", "a.xls", "--references", "a.csv"], "'.xls' are not read"),
        (["kendall_qpp", "--predictions", "b.json", "--references", "a.csv:x"], "not readable as"),
        (["kendall_qpp", "--predictions", "no.csv", "--references", "a.csv:x"], "No such file"),
        (["kendall_qpp", "--predictions", "a.csv:y", "--references", "a.csv:x"], "numbers"),
        (
            ["kendall_qpp", "--predictions", "n.csv", "--references", "n.csv"],
            "name one column as FILE:COLUMN",
        ),
    ],
)
def test_bad_input_is_one_line_and_two(tmp_path, pqpp, arguments, expected):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n3,c\n")
    (tmp_path / "n.csv").write_text("x,y\n1,2\n2,1\n3,5\n")
    (tmp_path / "a.xls").write_text("")
    (tmp_path / "b.json").write_text("[1,")
    done = pqpp("compute", *arguments)
    assert done.value == 2 and expected in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_blank_lines_keep_pairs_apart(tmp_path, pqpp):
    (tmp_path / "p.csv").write_text("p\n1\n\n3\n4\n")
    (tmp_path / "r.csv").write_text("r\n1\n2\n\n4\n")
    files = ("--predictions", "p.csv", "--references", "r.csv")
    done = pqpp("compute", "pearson_qpp", *files)
    assert done.value == 2 and "predictions" in done.stderr


def test_undefined_values_are_null_in_json(compute, tmp_path):
    (tmp_path / "p.csv").write_text("p\n1\n1\n1\n")
    (tmp_path / "r.csv").write_text("r\n1\n2\n3\n")
    assert (
        compute("pearson_qpp", "--predictions", "p.csv", "--references", "r.csv")["pearson_qpp"]
        is None
    )
