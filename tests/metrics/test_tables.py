"""Metrics of tables in memory, whose rows are joined by their ids."""

import pandas as pd
import pyarrow
import pytest

from pqpp_metrics.compute import compute_files
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import kendall_qpp, ndcg

PREDICTED = {"prompt_id": ["b", "a", "d", "c"], "score": [0.7, 0.5, 0.1, 0.6]}
TRUE = {"prompt_id": ["a", "b", "c", "d"], "hbpp": [1.0, 2.0, 3.0, 0.5]}
EXPECTED = kendall_qpp([0.7, 0.5, 0.1, 0.6], [2.0, 1.0, 0.5, 3.0])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pyarrow.table])
def test_rows_are_joined_by_id(make):
    tables = {"predictions": make(PREDICTED), "references": make(TRUE)}
    result, message = compute_files("kendall_qpp", tables, {})
    assert result == EXPECTED and message == "joined on prompt_id, 4 rows"


def test_rows_are_joined_by_the_index_or_within_one_table():
    frames = [pd.DataFrame(one).set_index("prompt_id") for one in (PREDICTED, TRUE)]
    tables = dict(zip(("predictions", "references"), frames, strict=True))
    assert compute_files("kendall_qpp", tables, {})[0] == EXPECTED
    frame = frames[0].join(frames[1]).assign(other=1.0)
    columns = {"predictions": (frame, "score"), "references": (frame, "hbpp")}
    assert compute_files("kendall_qpp", columns, {})[0] == EXPECTED
    votes = pd.DataFrame({"a": [2.0, 1.0], "b": [2.0, -1.0], "prompt_id": ["x", "y"]})
    labels = {"labels": (votes, ["a", "b"]), "prompt_ids": (votes, "prompt_id")}
    assert compute_files("hbpp", labels, {})[0]["scores"] == [2.0, 0.0]


def test_tables_with_a_row_for_each_document():
    run = {"query_id": ["q", "q", "p"], "doc_id": ["a", "b", "a"], "score": [0.1, 0.9, 0.4]}
    qrels = {"query_id": ["p", "q"], "doc_id": ["a", "a"], "rel": [1, 2]}
    result, _ = compute_files("ndcg", {"predictions": run, "references": qrels}, {})
    assert result["scores"] == [1.0, ndcg(scores=[[0.1, 0.9]], relevance=[[2, 0]])[0]]


def test_errors_name_the_table_and_row():
    twice = {"prompt_id": ["b", "a", "b", "c"], "score": [0.7, 0.5, 0.1, 0.6]}
    with pytest.raises(MetricInputError, match=r"the table of predictions, row 3: duplicate .*'b'"):
        compute_files("kendall_qpp", {"predictions": twice, "references": TRUE}, {})
    with pytest.raises(MetricInputError, match=r"the table of references: no column 'mos'"):
        files = {"predictions": PREDICTED, "references": (TRUE, "mos")}
        compute_files("kendall_qpp", files, {})
    blank = {**PREDICTED, "score": [0.7, None, 0.1, 0.6]}
    with pytest.raises(MetricInputError, match="predictions, row 2: predictions is em"):
        compute_files("kendall_qpp", {"predictions": blank, "references": TRUE}, {})
