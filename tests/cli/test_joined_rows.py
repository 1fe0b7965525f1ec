"""Rows of several files: joined by ids wherever they stand, and it is said how."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pqpp_cli.main import main
from pqpp_files.read_table import read_table
from pqpp_metrics.errors import MetricFileError
from pqpp_metrics.files.joined_rows import joined


@pytest.fixture
def compute(tmp_path, monkeypatch, capsys):
    """Run `pqpp metrics compute` in the test's folder: what it said, and its result."""
    monkeypatch.chdir(tmp_path)

    def run(*words, status=0):
        assert main(["metrics", "compute", *map(str, words), "--format", "json"]) == status
        said = capsys.readouterr()
        return said.err.strip(), json.loads(said.out) if status == 0 else None

    return run


PREDICTED = pd.Series([0.1, 0.4, 0.2, 0.3], ["a", "b", "c", "d"])
TRUE = pd.Series([3.0, 1.0, 4.0, 2.0], ["b", "a", "d", "c"])  # by id 1, 3, 2, 4: tau = 2 / 3
FILES = ("--predictions", "p.parquet", "--references", "r.parquet")


def write(name, predicted="predictions", true="references", **index):
    """Write both as Parquet with ids as the index."""
    PREDICTED.rename(predicted).to_frame().rename_axis(name).to_parquet("p.parquet")
    TRUE.rename(true).to_frame().rename_axis(index.get("other", name)).to_parquet("r.parquet")


@pytest.mark.parametrize("name", [None, "prompt_id", "image", "references"])
def test_the_index_of_pandas_holds_ids(compute, name):
    """By place it is -2/3 that comes out, by id 2/3."""
    write(name)
    if name == "references":  # also where the index is called like what is scored
        write(None)
    said, found = compute("kendall_qpp", *FILES)
    assert found["kendall_qpp"] == pytest.approx(2 / 3, abs=1e-12)
    assert stats.kendalltau(PREDICTED, TRUE.to_numpy()).statistic == pytest.approx(-2 / 3)
    shown = "the index" if name in (None, "references") else name
    assert said == f"joined on {shown}, 4 rows"


def test_an_index_joins_a_column_of_another_name(compute):
    write("prompt_id")
    TRUE.rename("r").rename_axis("id").reset_index().to_csv("r.csv", index=False)
    files = ("--predictions", "p.parquet", "--references", "r.csv")
    said, found = compute("kendall_qpp", *files)
    assert found["kendall_qpp"] == pytest.approx(2 / 3, abs=1e-12)
    assert said == "joined on prompt_id = id, 4 rows"


def test_an_index_of_several_levels_is_one_id(compute):
    levels = pd.MultiIndex.from_tuples([(q, i) for q in "ab" for i in (1, 2)], names=["id", None])
    frame = pd.DataFrame({"v": [1.0, 2.0, 3.0, 4.0]}, levels)
    frame.to_parquet("p.parquet")
    frame[::-1].to_parquet("r.parquet")
    said, found = compute("rmse_qpp", *FILES)
    assert found["rmse_qpp"] == 0 and said == "joined on id,the index, 4 rows"


def test_an_index_that_counts_is_an_id_beside_one_that_was_shuffled(compute):
    frame = pd.DataFrame({"v": [1.0, 2.0, 3.0, 4.0]})
    frame.to_parquet("p.parquet")
    frame.iloc[[2, 0, 3, 1]].to_parquet("r.parquet")
    said, found = compute("rmse_qpp", *FILES)
    assert found["rmse_qpp"] == 0 and said == "joined on the index, 4 rows"
    frame.to_parquet("r.parquet")
    assert compute("rmse_qpp", *FILES)[0] == "paired by row"


def test_named_ids(compute):
    Path("p.csv").write_text("id,image,model,p\n0,a,x,1\n1,a,y,2\n2,b,x,3\n")
    Path("r.csv").write_text("id,image,model,r\n0,b,x,3\n1,a,y,2\n2,a,x,1\n")
    files = ("--predictions", "p.csv:p", "--references", "r.csv:r")
    said, found = compute("rmse_qpp", *files, "--id", "image,model")
    assert found["rmse_qpp"] == 0 and said == "joined on image,model, 3 rows"
    said, _ = compute("rmse_qpp", *files, "--id", "image", status=2)
    assert "image 'a' is there twice" in said
    said, _ = compute("rmse_qpp", *files, "--id", "prompt", status=2)
    assert "p.csv, line 1: no column 'prompt'" in said
    said, found = compute("heatmap_mse", *files, status=2)  # a refused call says one line only
    assert said.count("\n") == 0


def test_ids_that_contradict_each_other_are_refused(compute):
    """Here id only counts the rows of each file: by it every pair would be wrong."""
    Path("p.csv").write_text("id,prompt_id,p\n0,a,1\n1,b,2\n2,c,3\n")
    for rows in ("0,c,3\n1,b,2\n2,a,1\n", "2,a,1\n0,c,3\n1,b,2\n"):
        Path("r.csv").write_text("id,prompt_id,r\n" + rows)
        files = ("--predictions", "p.csv:p", "--references", "r.csv:r")
        said, _ = compute("rmse_qpp", *files, status=2)
        assert "joined on id, 2 rows differ in prompt_id, as p.csv, line 2 (a) and r.csv" in said
        assert said.endswith("name the right id by --id") and "\n" not in said
        said, found = compute("rmse_qpp", *files, "--id", "prompt_id")
        assert found["rmse_qpp"] == 0 and said == "joined on prompt_id, 3 rows"


def test_what_was_done_is_said(compute):
    Path("p.csv").write_text("id,p\na,1\nb,2\nc,3\n")
    Path("r.csv").write_text("r\n1\n2\n3\n")
    Path("s.csv").write_text("id,r\nc,3\nb,2\nx,9\n")
    by_row = compute("rmse_qpp", "--predictions", "p.csv:p", "--references", "r.csv")[0]
    assert by_row == "paired by row: r.csv without ids"
    words = ("rmse_qpp", "--predictions", "p.csv:p", "--references")
    assert compute(*words, "s.csv:r", "--missing", "drop")[0] == (
        "joined on id, 2 rows, 2 without a partner left out"
    )
    said, found = compute(*words, "p.csv:p")
    assert said == "" and found["n"] == 3


def test_values_of_single_rows_come_with_their_ids(compute):
    rows = [{"id": n, "s": [0.1, 0.9, 0.5], "r": [0, 1, n % 2]} for n in (7, 8)]
    Path("q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    _, found = compute("ndcg", "--predictions", "q.jsonl:s", "--references", "q.jsonl:r")
    assert found["ids"] == ["7", "8"] and len(found["scores"]) == 2
    Path("a.run").write_text("q2 Q0 d1 1 2 t\nq1 Q0 d1 1 2 t\n")
    Path("a.qrels").write_text("q1 0 d1 1\nq2 0 d1 0\n")
    _, found = compute("reciprocal_rank", "--predictions", "a.run", "--references", "a.qrels")
    assert dict(zip(found["ids"], found["scores"], strict=True)) == {"q1": 1.0, "q2": 0.0}


def test_no_header(compute):
    Path("p.csv").write_text("1\n2\n3\n4\n")
    Path("t.tsv").write_text("a\t1\t.5\nb\t2\t.7\nc\t3\t.6\n")
    files = ("--predictions", "p.csv", "--references", "p.csv")
    said, _ = compute("kendall_qpp", *files, status=2)
    assert "p.csv, line 1: numbers (1) stand where the names" in said and "--no-header" in said
    assert compute("kendall_qpp", *files, "--no-header")[1]["n"] == 4
    files = ("--predictions", "t.tsv:2", "--references", "t.tsv:3", "--no-header")
    assert compute("kendall_qpp", *files)[1]["kendall_qpp"] == pytest.approx(1 / 3)


IDS = st.text('ab,"\n é7', min_size=1, max_size=3).filter(lambda one: one.strip())


@given(
    st.dictionaries(IDS, st.tuples(st.integers(), st.integers()), min_size=1, max_size=8),
    st.sets(IDS, max_size=3),
    st.sampled_from(["csv", "jsonl", "column", "index", "unnamed"]),
    st.randoms(use_true_random=False),
)
def test_no_order_of_rows_changes_what_belongs_together(tmp_path_factory, known, more, kind, rng):
    """Each side is shuffled, and has rows that the other lacks: they are dropped, or refused."""
    folder = tmp_path_factory.mktemp("rows")
    sides = [list(known.items()), list(known.items())]
    extra = [(one, (0, 0)) for one in sorted(more) if one not in known]
    sides[rng.randrange(2)] += extra
    tables = {}
    for place, rows in enumerate(sides):
        rng.shuffle(rows)
        frame = pd.DataFrame(
            {"id": [one for one, _ in rows], "v": [str(values[place]) for _, values in rows]}
        )
        if kind == "csv":
            path = folder / f"{place}.csv"
            frame.to_csv(path, index=False)
        elif kind == "jsonl":
            path = folder / f"{place}.jsonl"
            frame.to_json(path, orient="records", lines=True)
        else:
            path = folder / f"{place}.parquet"
            name = {"index": "id", "unnamed": None}.get(kind)
            indexed = frame if kind == "column" else frame.set_index("id").rename_axis(name)
            indexed.to_parquet(path)
        tables[str(path)] = read_table(path)
    used = {path: {"v"} for path in tables}
    if extra:
        with pytest.raises(MetricFileError, match=f": {len(extra)} .* not in every file"):
            joined(tables, used)
    found = joined(tables, used, missing="drop")
    rows = found.rows or dict.fromkeys(tables, range(len(sides[0])))
    columns = [[tables[path]["v"][row] for row in rows[path]] for path in tables]
    assert dict(zip(found.ids, zip(*columns, strict=True), strict=True)) == {
        one: (str(a), str(b)) for one, (a, b) in known.items()
    }
