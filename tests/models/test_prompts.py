import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import Dataset

import pqpp
from pqpp_models import PredictorError
from pqpp_models.prompts import read_prompts, to_mappings

PROMPTS = ["a cat", " a\ndog \u00e9\U0001f600"]
ROWS = [{"prompt": text, "other": 1} for text in PROMPTS]


@pytest.mark.parametrize(
    "rows",
    [
        PROMPTS,
        tuple(PROMPTS),
        (text for text in PROMPTS),
        np.array(PROMPTS),
        pd.Series(PROMPTS, index=[5, 7]),
        ROWS,
        {"prompt": PROMPTS, "other": [1, 2]},
        pd.DataFrame(ROWS),
        pa.Table.from_pylist(ROWS),
        Dataset.from_list(ROWS),
        Dataset.from_list(ROWS).to_iterable_dataset(),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_reads_all_row_types(rows):
    assert read_prompts(rows) == PROMPTS


def test_tables_keep_the_pandas_index():
    rows = pd.Series(PROMPTS, index=[5, 7]).to_frame("prompt")
    for table in (pqpp.predict(rows, "mean_rr"), pqpp.read(rows)):
        assert table.index.tolist() == [5, 7]


@pytest.mark.parametrize("rows", [[], (), {"prompt": []}, pd.DataFrame({"prompt": []})])
def test_accepts_empty_rows(rows):
    assert read_prompts(rows) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a cat", "is a single string"),
        (["a", None], "index 1 is missing"),
        ([{"text": "a"}], "index 0 is missing"),
        ({"text": ["a"]}, r"no column 'prompt' \(columns: text\)"),
        (pd.DataFrame({"caption": ["a"]}), "columns: caption"),
    ],
)
def test_rejects_invalid_prompts(rows, message):
    with pytest.raises(PredictorError, match=message):
        read_prompts(rows)


def test_rows_of_pandas_have_lists_and_none(tmp_path):
    rows = [
        {"prompt": "a cat", "clip_images": ["1.png", "2.png"], "clip_relevance": [1, 0]},
        {"prompt": "a dog", "clip_images": ["3.png"], "clip_relevance": None},
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    for table in (pd.DataFrame(rows).replace({None: float("nan")}), pd.read_parquet(tmp_path)):
        assert to_mappings(table) == rows
