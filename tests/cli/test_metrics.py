"""`pqpp metrics`: from files, without Python."""

import json
import subprocess
import sys

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
    assert "1 query of" in done.stderr and "--missing zero or --missing drop" in done.stderr
    assert compute("reciprocal_rank", *files, "--missing", "zero")["scores"] == [0.5, 1.0, 0.0]
    assert compute("reciprocal_rank", *files, "--missing", "drop")["scores"] == [0.5, 1.0]
    (tmp_path / "run.trec").write_text(RUN + "q4 Q0 d1 1 1 t\n")
    for ways in (files, ("--run", "run.trec", "--qrels", "qrels.trec")):
        done = pqpp(
            "compute", "rr" if "--run" in ways else "reciprocal_rank", *ways, "--missing", "zero"
        )
        assert (
            done.value == 0 and "1 query of the run without judgments left out (q4)" in done.stderr
        )


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
        (["kendall_qpp", "--input", "labels"], "write NAME=FILE"),
        (["kendall_qpp", "--predictions", "a.csv:z", "--references", "a.csv:x"], "no column 'z'"),
        (["kendall_qpp", "--predictions", "a.csv", "--references", "a.csv"], "name one by a.csv:"),
        (["kendall_qpp", "--predictions", "a.xls", "--references", "a.csv"], "'.xls' are not read"),
        (["kendall_qpp", "--predictions", "b.json", "--references", "a.csv:x"], "b.json, line 1: "),
        (["kendall_qpp", "--predictions", "no.csv", "--references", "a.csv:x"], "no such file"),
        (["kendall_qpp", "--predictions", "n.parquet", "--references", "a.csv:x"], "no such file"),
        (["ndcg", "--predictions", "n.run", "--references", "n.qrels"], "n.run: there is no such"),
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


def test_the_output_never_replaces_an_input(tmp_path, pqpp):
    pd.DataFrame({"predicted": PREDICTED, "true": TRUE}).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "link.csv").symlink_to("a.csv")
    before = (tmp_path / "a.csv").read_bytes()
    files = ("--predictions", "a.csv:predicted", "--references", "a.csv:true")
    for output in ("a.csv", "./a.csv", "link.csv"):
        done = pqpp("compute", "kendall_qpp", *files, "--output", output)
        assert done.value == 2 and f"--output {output} is the input a.csv" in done.stderr
        assert done.stderr.count("\n") == 1
    assert (tmp_path / "a.csv").read_bytes() == before and (tmp_path / "link.csv").is_symlink()
    (tmp_path / "old.txt").write_text("old")
    assert pqpp("compute", "kendall_qpp", *files, "--output", "old.txt").value == 0
    assert "kendall_qpp" in (tmp_path / "old.txt").read_text()


@pytest.mark.parametrize("key", ["id", "query_id", "prompt_id", "prompt"])
def test_files_with_ids_are_joined_by_them(tmp_path, compute, key):
    """1, 2, 3, 4 and once 5 for 4, the second file upside down: by id one error of 1."""
    (tmp_path / "p.csv").write_text(f"{key},p\n01,1\nb,2\nc,3\nd,5\n")
    (tmp_path / "r.csv").write_text(f"{key},r\nd,4\nc,3\nb,2\n01,1\n")
    (tmp_path / "s.csv").write_text("r\n4\n3\n2\n1\n")
    joined = compute("rmse_qpp", "--predictions", "p.csv:p", "--references", "r.csv:r")
    assert joined["n"] == 4 and joined["rmse_qpp"] == pytest.approx(0.5, abs=1e-12)
    # Without ids on both sides the place decides.
    placed = compute("rmse_qpp", "--predictions", "p.csv", "--references", "s.csv")
    assert placed["rmse_qpp"] == pytest.approx((27 / 4) ** 0.5, abs=1e-12)
    texts = ("--predictions", f"p.csv:{key}", "--references", f"r.csv:{key}")
    assert compute("cohen_kappa", *texts)["cohen_kappa"] < 0  # what is scored joins nothing


def test_ids_of_a_number_join_those_of_text(tmp_path, compute):
    (tmp_path / "p.csv").write_text("id,p\n1,1\n2,2\n3,3\n")
    records = [{"id": 3, "r": 3.0}, {"id": 2, "r": 2.0}, {"id": 1, "r": 1.0}]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, records)))
    found = compute("rmse_qpp", "--predictions", "p.csv", "--references", "r.jsonl:r")
    assert found["rmse_qpp"] == 0


def test_the_same_ids_in_the_same_order_may_repeat(tmp_path, compute):
    (tmp_path / "p.csv").write_text("prompt,p\na,1\na,2\nb,3\n")
    (tmp_path / "r.csv").write_text("prompt,r\na,1\na,2\nb,5\n")
    found = compute("rmse_qpp", "--predictions", "p.csv:p", "--references", "r.csv:r")
    assert found["rmse_qpp"] == pytest.approx((4 / 3) ** 0.5, abs=1e-12)


def test_words_that_pandas_takes_for_nothing_are_ids(tmp_path, compute):
    (tmp_path / "p.csv").write_text("prompt,p\nNA,1\nNone,2\nnull,3\n")
    (tmp_path / "r.csv").write_text("prompt,r\nnull,3\nNA,1\nNone,5\n")
    found = compute("rmse_qpp", "--predictions", "p.csv:p", "--references", "r.csv:r")
    assert found["rmse_qpp"] == pytest.approx(3**0.5, abs=1e-12)


def test_empty_ids_in_files_that_are_alike(tmp_path, compute):
    (tmp_path / "p.csv").write_text("id,p\na,1\n,2\nc,3\n")
    (tmp_path / "r.csv").write_text("id,r\na,1\n,2\nc,6\n")
    found = compute("rmse_qpp", "--predictions", "p.csv:p", "--references", "r.csv:r")
    assert found["rmse_qpp"] == pytest.approx(3**0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("references", "words"),
    [
        ("id,r\nb,1\na,2\na,3\n", "r.csv, line 4: id 'a' is there twice"),
        ("id,r\nb,1\nb,1\na,2\na,3\n", "r.csv, line 3: id 'b' is there twice"),
        ("id,r\nb,1\na,2\nx,3\n", "p.csv: 1 id not in every file (c)"),
        ("id,r\nx,1\na,2\ny,3\n", "2 id not in every file (b, c); r.csv: 2 id not in every"),
        ("id,r\nb,1\na,2\n", "choose --missing drop"),
        ("id,r\nb,1\n,2\nc,3\n", "r.csv, line 3: 'id' is empty"),
    ],
)
def test_ids_that_do_not_fit_are_refused(tmp_path, pqpp, references, words):
    (tmp_path / "p.csv").write_text("id,p\na,1\nb,2\nc,3\n")
    (tmp_path / "r.csv").write_text(references)
    files = ("--predictions", "p.csv:p", "--references", "r.csv:r")
    for missing in ("error", "zero"):
        done = pqpp("compute", "rmse_qpp", *files, "--missing", missing)
        assert done.value == 2 and words in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1


def test_ids_of_one_side_can_be_dropped(tmp_path, compute, pqpp):
    (tmp_path / "p.csv").write_text("id,p\na,1\nb,2\nc,3\n")
    (tmp_path / "r.csv").write_text("id,r\nx,9\nc,4\nb,2\n")
    (tmp_path / "z.csv").write_text("id,r\nx,9\ny,4\n")
    files = ("--predictions", "p.csv:p", "--references")
    found = compute("rmse_qpp", *files, "r.csv:r", "--missing", "drop")
    assert found["n"] == 2 and found["rmse_qpp"] == pytest.approx(0.5**0.5, abs=1e-12)
    done = pqpp("compute", "rmse_qpp", *files, "z.csv:r", "--missing", "drop")
    assert done.value == 2 and "have no id in common" in done.stderr


def test_ids_that_one_of_three_files_lacks(tmp_path, pqpp):
    (tmp_path / "p.csv").write_text("id,p\na,1\nb,2\nc,3\n")
    (tmp_path / "o.csv").write_text("o\n1\n3\n2\n")
    (tmp_path / "r.csv").write_text("id,r\nc,1\nb,2\na,3\n")
    files = ("--predictions", "p.csv:p", "--references", "r.csv:r")
    done = pqpp("compute", "paired_permutation", *files, "--input", "other_predictions=o.csv")
    assert done.value == 2 and "differ in 'id', which o.csv does not have" in done.stderr


def test_columns_of_unequal_length_are_two_groups(tmp_path, compute):
    """ConQA's question of two files: 1 of the 3 x 2 pairs has the higher x."""
    (tmp_path / "x.csv").write_text("id,v\na,1\nb,2\nc,5\n")
    (tmp_path / "y.csv").write_text("id,v\nd,3\ne,6\n")
    found = compute("mann_whitney", "--input", "x=x.csv", "--input", "y=y.csv:v")
    assert found["mann_whitney"] == 1.0 and (found["n_x"], found["n_y"]) == ([3], [2])
    assert found["p_value"] == [pytest.approx(0.2)]  # 2 of the 10 ways to choose have U <= 1


def table_of(text):
    """The rows of printed tables, by their first cell."""
    rows = [line.split() for line in text.splitlines() if line.strip("- ")]
    return {row[0]: row[1:] for row in rows}


def test_the_table_shows_what_a_group_or_a_family_of_tests_has(tmp_path, pqpp):
    (tmp_path / "x.csv").write_text("id,v\na,1\nb,2\nc,5\n")
    (tmp_path / "y.csv").write_text("id,v\nd,3\ne,6\n")
    done = pqpp("compute", "mann_whitney", "--input", "x=x.csv", "--input", "y=y.csv:v")
    shown = table_of(done.stdout)
    assert (shown["mann_whitney"], shown["p_value"], shown["n_x"]) == (["1"], ["0.2"], ["3"])
    (tmp_path / "p.csv").write_text("p\n0.01\n0.04\n0.03\n")
    done = pqpp("compute", "holm", "--input", "p_values=p.csv")
    # The smallest of three is taken three times, the next twice; the last is no less than those.
    assert [line.split() for line in done.stdout.splitlines()[-3:]] == [
        ["0.03", "True"], ["0.06", "False"], ["0.06", "False"]
    ]  # fmt: skip


def test_the_table_tells_what_hangs_on_one_query(tmp_path, pqpp):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,1\n2,1,2\n3,3,3\n4,5,4\n5,4,5\n60,1,70\n")
    files = ("--predictions", "t.csv:a", "--references", "t.csv:y")
    other = ("--input", "other_predictions=t.csv:b", "--option", "statistic=pearson")
    done = pqpp("compute", "paired_permutation", *files, *other)
    shown = table_of(done.stdout)
    assert float(shown["largest_share"][0]) > 0.25
    # Six digits, beside a text too.
    assert all(len(shown[name][0]) <= 9 for name in ("p_value", "ci_low", "largest_share"))
    assert shown["warning"][:3] == ["one", "query", "carries"]


def test_several_columns_are_one_list_a_row(tmp_path, compute, pqpp):
    """Three raters, worked by hand: P = (1 + 1/3) / 2, Pe = (4/6)^2 + (2/6)^2, kappa = .25."""
    (tmp_path / "r.csv").write_text("prompt,r1,r2,r3\na,yes,yes,yes\nb,yes,no,no\n")
    named = compute("fleiss_kappa", "--input", "ratings=r.csv:r1,r2,r3")
    assert named["fleiss_kappa"] == pytest.approx(0.25, abs=1e-12)
    assert compute("fleiss_kappa", "--input", "ratings=r.csv") == named
    done = pqpp("compute", "fleiss_kappa", "--input", "ratings=r.csv:r1,r9")
    assert done.value == 2 and "no column 'r9' among prompt, r1" in done.stderr
    (tmp_path / "m.csv").write_text("match,task,model\n1,a,x\n0,a,y\n1,a,x\n")
    matches = ("--input", "matches=m.csv:match", "--input")
    rows = compute("match_rate", *matches, "groups=m.csv:task,model")["groups"]
    assert [(row["group_0"], row["group_1"], row["n"]) for row in rows] == [
        ("a", "x", 2),
        ("a", "y", 1),
    ]
    assert [row["n"] for row in compute("match_rate", *matches, "groups=m.csv:task")["groups"]] == [
        3
    ]


@pytest.mark.parametrize("column", ["prompt_id", "asked"])
def test_ids_beside_the_votes_stay_text(tmp_path, compute, column):
    (tmp_path / "v.csv").write_text(f"{column},a,b,c\n007,2,2,1\n007,0,0,0\n7,1,1,1\n")
    ids = f"prompt_ids=v.csv:{column}"
    votes = "labels=v.csv" if column == "prompt_id" else "labels=v.csv:a,b,c"
    found = compute("hbpp", "--input", votes, "--input", ids)
    assert found["prompt_ids"] == ["007", "7"]
    assert found["scores"] == pytest.approx([5 / 6, 1.0], abs=1e-12)


def test_other_nesting_is_refused_in_one_line(tmp_path, pqpp):
    (tmp_path / "v.csv").write_text("vote,prompt_id\n2,a\n1,b\n")
    votes = ("--input", "labels=v.csv:vote", "--input", "prompt_ids=v.csv:prompt_id")
    done = pqpp("compute", "hbpp", *votes)
    assert done.value == 2 and done.stderr.count("\n") == 1
    assert "`labels` holds 2; give a list of numbers" in done.stderr
    assert "several as FILE:COLUMN,COLUMN" in done.stderr


def test_a_report_is_a_row_for_each_value(tmp_path, pqpp):
    pd.DataFrame({"predicted": PREDICTED, "true": TRUE}).to_csv(tmp_path / "a.csv", index=False)
    files = ("--predictions", "a.csv:predicted", "--references", "a.csv:true")
    lines = pqpp("compute", "qpp_report", *files).stdout.splitlines()
    rows = dict(line.split() for line in lines[2:])
    assert float(rows["pearson_qpp"]) == pytest.approx(
        stats.pearsonr(PREDICTED, TRUE).statistic, rel=1e-5
    )
    assert float(rows["kendall_qpp.p_value"]) == pytest.approx(
        stats.kendalltau(PREDICTED, TRUE).pvalue, rel=1e-5
    )


def test_a_wrong_seed_is_one_line(tmp_path, pqpp):
    pd.DataFrame({"p": PREDICTED, "o": TRUE[::-1], "r": TRUE}).to_csv(tmp_path / "a.csv")
    files = ("--predictions", "a.csv:p", "--references", "a.csv:r")
    other = ("--input", "other_predictions=a.csv:o")
    for seed in ("-1", "1.5", "x", "true", "null"):
        done = pqpp("compute", "paired_permutation", *files, *other, "--option", f"seed={seed}")
        assert done.value == 2 and "an integer of at least 0" in done.stderr
        assert done.stderr.count("\n") == 1


def test_without_evaluate_or_pandas(tmp_path):
    """What a metric of a tiny file costs is the start of Python, numpy and the function itself."""
    (tmp_path / "p.csv").write_text("p,r,o\n1,1,2\n2,3,5\n3,2,1\n5,4,7\n")
    files = ["--predictions", "p.csv:p", "--references", "p.csv:r"]
    code = """
import resource, sys
from pqpp_cli.main import main
files, other = sys.argv[1:], ["--input", "other_predictions=p.csv:o"]
calls = [[name, *files] for name in ("pearson_qpp", "spearman_qpp", "kendall_qpp", "qpp_report")]
calls += [[name, *files] for name in ("rmse_qpp", "smare", "cohen_kappa")]
calls += [[name, *files, *other] for name in ("paired_permutation",)]
for words in (["list"], *(["compute", *call] for call in calls)):
    assert main(["metrics", *words]) == 0
    heavy = {"evaluate", "datasets", "pandas", "pyarrow", "torch", "scipy.stats"} & {*sys.modules}
    assert not heavy, (words, heavy)
used = resource.getrusage(resource.RUSAGE_SELF)
print("seconds", used.ru_utime + used.ru_stime)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *files], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "pearson_qpp" in done.stdout and "0.5" in done.stdout
    assert float(done.stdout.split()[-1]) < 3  # on a slow, shared machine; 0.5 on a free one


def test_an_unknown_name_suggests_three(pqpp):
    done = pqpp("compute", "kendal", "--predictions", "a.csv", "--references", "a.csv")
    assert done.value == 2 and "did you mean 'pqpp/kendall_qpp'" in done.stderr
    assert done.stderr.count("pqpp/") <= 4 and "metrics list" in done.stderr


def test_list_says_what_each_needs(pqpp):
    (line,) = [line for line in pqpp("list").stdout.splitlines() if line.startswith("hbpp ")]
    assert "labels, prompt_ids" in line and "How well a text-to-image model" in line


def test_truth_values_of_a_csv_file_are_numbers(tmp_path, compute):
    (tmp_path / "m.csv").write_text("match,task\nTrue,a\nFalse,a\nTrue,b\nTrue,b\n")
    found = compute("match_rate", "--input", "matches=m.csv:match", "--input", "groups=m.csv:task")
    assert found["match_rate"] == 0.75


def test_truth_values_as_a_spreadsheet_writes_them_and_blanks(tmp_path, pqpp, compute):
    (tmp_path / "m.csv").write_text("match,task\nTRUE,a\nFALSE,a\n,b\nTRUE,b\n")
    files = ("--input", "matches=m.csv:match", "--input", "groups=m.csv:task")
    refused = pqpp("compute", "match_rate", *files)
    assert refused.value == 2 and "m.csv, line 4: matches is empty or NaN" in refused.stderr
    found = compute("match_rate", *files, "--nan", "drop")
    assert (found["match_rate"], found["n"]) == (pytest.approx(2 / 3), 3)


def test_a_missing_group_is_called_missing(tmp_path, pqpp):
    (tmp_path / "m.csv").write_text("match,task\n1,a\n0,\n1,b\n")
    done = pqpp(
        "compute", "match_rate", "--input", "matches=m.csv:match", "--input", "groups=m.csv:task"
    )
    assert done.value == 2 and "none missing (m.csv, line 3: groups is empty" in done.stderr


def test_the_name_of_the_output_says_its_format(tmp_path, pqpp):
    pd.DataFrame({"p": PREDICTED, "r": TRUE}).to_csv(tmp_path / "a.csv", index=False)
    files = ("--predictions", "a.csv:p", "--references", "a.csv:r")
    assert pqpp("compute", "kendall_qpp", *files, "--output", "k.json").value == 0
    assert json.loads((tmp_path / "k.json").read_text())["n"] == len(TRUE)
    (tmp_path / "run.trec").write_text("q Q0 d 1 0.5 t\n")
    (tmp_path / "qrels.trec").write_text("q 0 d 1\n")
    of_runs = ("--run", "run.trec", "--qrels", "qrels.trec", "--output", "runs.json")
    assert pqpp("compute", "rr,ap", *of_runs).value == 0
    assert json.loads((tmp_path / "runs.json").read_text())["means"]["rr"]["mean"] == 1
    refused = pqpp("compute", "kendall_qpp", *files, "--output", "k.csv")
    assert (
        refused.value == 2
        and ".csv is not a known format; use one of .json, .txt" in refused.stderr
    )
    assert not (tmp_path / "k.csv").exists()


def test_an_option_without_a_default_must_be_given(tmp_path, pqpp):
    record = {"scores": [[4]], "keyword_labels": [[1]], "points": [[]]}
    (tmp_path / "f.jsonl").write_text(json.dumps(record))
    inputs = [word for name in record for word in ("--input", f"{name}=f.jsonl")]
    done = pqpp("compute", "richhf_consolidation", *inputs, "--option", "height=4")
    assert done.value == 2 and "the option `width` is missing" in done.stderr
    done = pqpp("compute", "kendall_qpp", "--predictions", "f.jsonl", "--references", "f.jsonl")
    assert done.value == 2 and done.stderr.count("\n") == 1
