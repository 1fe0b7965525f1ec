"""`pqpp metrics compute`: rows of several files are joined by ids, in any order."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pqpp_files.read_table import read_table
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.tables import join_tables

PREDICTED = pd.Series([0.1, 0.4, 0.2, 0.3], ["a", "b", "c", "d"])
TRUE = pd.Series([3.0, 1.0, 4.0, 2.0], ["b", "a", "d", "c"])  # by id 1, 3, 2, 4: tau = 2 / 3
FILES = ("--predictions", "p.parquet", "--references", "r.parquet")


def write_parquet(name, predicted="predictions", true="references", **index):
    """Write both series as Parquet, with ids as the index."""
    PREDICTED.rename(predicted).to_frame().rename_axis(name).to_parquet("p.parquet")
    TRUE.rename(true).to_frame().rename_axis(index.get("other", name)).to_parquet("r.parquet")


@pytest.mark.parametrize("name", [None, "prompt_id", "references"])
def test_pandas_index_is_used_as_ids(compute, name):
    """Tau is 2/3 if rows are joined by id, and -2/3 by position."""
    write_parquet(name)
    if name == "references":  # also if the index has the name of the scored column
        write_parquet(None)
    note, result = compute("kendall_qpp", *FILES)
    assert result["kendall_qpp"] == pytest.approx(2 / 3, abs=1e-12)
    assert stats.kendalltau(PREDICTED, TRUE.to_numpy()).statistic == pytest.approx(-2 / 3)
    column = "the index" if name in (None, "references") else name
    assert note == f"joined on {column}, 4 rows"


def test_contradictory_ids_are_refused(compute):
    """The column id only counts the rows of each file; joined by it, every pair is wrong."""
    Path("p.csv").write_text("id,prompt_id,p\n0,a,1\n1,b,2\n2,c,3\n")
    for rows in ("0,c,3\n1,b,2\n2,a,1\n", "2,a,1\n0,c,3\n1,b,2\n"):
        Path("r.csv").write_text("id,prompt_id,r\n" + rows)
        files = ("--predictions", "p.csv:p", "--references", "r.csv:r")
        message, _ = compute("rmse_qpp", *files, status=2)
        assert "joined on id, 2 rows differ in prompt_id, such as p.csv, line 2 (a)" in message
        assert message.endswith("set --id to the right column") and "\n" not in message
        message, result = compute("rmse_qpp", *files, "--id", "prompt_id")
        assert result["rmse_qpp"] == 0 and message == "joined on prompt_id, 3 rows"


IDS = st.text('ab,"\n é7', min_size=1, max_size=3).filter(lambda one: one.strip())


@given(
    st.dictionaries(IDS, st.tuples(st.integers(), st.integers()), min_size=1, max_size=8),
    st.sets(IDS, max_size=3),
    st.sampled_from(["csv", "jsonl", "column", "index", "unnamed"]),
    st.randoms(use_true_random=False),
)
def test_row_order_does_not_change_joins(tmp_path_factory, known, more, kind, rng):
    """Both sides are shuffled, and one has extra rows, which are refused or dropped."""
    folder = tmp_path_factory.mktemp("rows")
    sides = [list(known.items()), list(known.items())]
    extra = [(id_, (0, 0)) for id_ in sorted(more) if id_ not in known]
    sides[rng.randrange(2)] += extra
    tables = {}
    for side, rows in enumerate(sides):
        rng.shuffle(rows)
        frame = pd.DataFrame(
            {"id": [id_ for id_, _ in rows], "v": [str(values[side]) for _, values in rows]}
        )
        if kind == "csv":
            path = folder / f"{side}.csv"
            frame.to_csv(path, index=False)
        elif kind == "jsonl":
            path = folder / f"{side}.jsonl"
            frame.to_json(path, orient="records", lines=True)
        else:
            path = folder / f"{side}.parquet"
            name = {"index": "id", "unnamed": None}.get(kind)
            indexed = frame if kind == "column" else frame.set_index("id").rename_axis(name)
            indexed.to_parquet(path)
        tables[str(path)] = read_table(path)
    used = {path: {"v"} for path in tables}
    if extra:
        with pytest.raises(MetricInputError, match=rf" other files lack, {len(extra)} "):
            join_tables(tables, used)
    rows, ids, _ = join_tables(tables, used, missing="drop")
    columns = [[tables[path]["v"][row] for row in rows[path]] for path in tables]
    assert dict(zip(ids, zip(*columns, strict=True), strict=True)) == {
        id_: (str(a), str(b)) for id_, (a, b) in known.items()
    }
