"""Metrics of tables that a caller holds, whose rows go together by their ids."""

import pandas as pd
import pyarrow
import pytest

from pqpp_metrics.compute import compute_files
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import kendall_qpp, ndcg

PREDICTED = {"prompt_id": ["b", "a", "d", "c"], "score": [0.7, 0.5, 0.1, 0.6]}
TRUE = {"prompt_id": ["a", "b", "c", "d"], "hbpp": [1.0, 2.0, 3.0, 0.5]}
EXPECTED = kendall_qpp([0.7, 0.5, 0.1, 0.6], [2.0, 1.0, 0.5, 3.0])


@pytest.mark.parametrize("held", [dict, pd.DataFrame, pyarrow.table])
def test_rows_are_joined_by_id(held):
    tables = {"predictions": held(PREDICTED), "references": held(TRUE)}
    result, told = compute_files("kendall_qpp", tables, {})
    assert result == EXPECTED and told == "joined on prompt_id, 4 rows"


def test_by_the_index_of_pandas_and_of_one_table():
    frames = [pd.DataFrame(one).set_index("prompt_id") for one in (PREDICTED, TRUE)]
    both = dict(zip(("predictions", "references"), frames, strict=True))
    assert compute_files("kendall_qpp", both, {})[0] == EXPECTED
    frame = frames[0].join(frames[1]).assign(other=1.0)
    one = {"predictions": (frame, "score"), "references": (frame, "hbpp")}
    assert compute_files("kendall_qpp", one, {})[0] == EXPECTED
    votes = pd.DataFrame({"a": [2.0, 1.0], "b": [2.0, -1.0], "prompt_id": ["x", "y"]})
    some = {"labels": (votes, ["a", "b"]), "prompt_ids": (votes, "prompt_id")}
    assert compute_files("hbpp", some, {})[0]["scores"] == [2.0, 0.0]


def test_a_row_for_each_document():
    run = {"query_id": ["q", "q", "p"], "doc_id": ["a", "b", "a"], "score": [0.1, 0.9, 0.4]}
    qrels = {"query_id": ["p", "q"], "doc_id": ["a", "a"], "rel": [1, 2]}
    result, _ = compute_files("ndcg", {"predictions": run, "references": qrels}, {})
    assert result["scores"] == [1.0, ndcg(scores=[[0.1, 0.9]], relevance=[[2, 0]])[0]]


def test_what_does_not_fit_is_told_by_table_and_row():
    twice = {"prompt_id": ["b", "a", "b", "c"], "score": [0.7, 0.5, 0.1, 0.6]}
    with pytest.raises(MetricInputError, match=r"the table of predictions, row 3: duplicate .*'b'"):
        compute_files("kendall_qpp", {"predictions": twice, "references": TRUE}, {})
    with pytest.raises(MetricInputError, match=r"the table of references: no column 'mos'"):
        files = {"predictions": PREDICTED, "references": (TRUE, "mos")}
        compute_files("kendall_qpp", files, {})
    blank = {**PREDICTED, "score": [0.7, None, 0.1, 0.6]}
    with pytest.raises(MetricInputError, match="predictions, row 2: predictions is em"):
        compute_files("kendall_qpp", {"predictions": blank, "references": TRUE}, {})
