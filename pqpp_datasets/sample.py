"""A small generated benchmark with the columns of PQPP, for trials without any data.

It has no human ratings and no generated or retrieved images: captions are drawn from a small
grammar, and each score is a formula of the caption plus noise. A phrase is harder the more things,
letters or actions it contains; the number and length of words have no effect. Results on it prove
nothing about a predictor. `source` is `generated`, and each `prompt_id` begins with `generated-`.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import load_entry
from pqpp_datasets.pqpp import get_features, make_pqpp_table
from pqpp_files.foreign.json_values import read_json


def read(folder: Path | None, split: str, options: Mapping[str, object]) -> pa.Table:
    """Return one split of the generated benchmark.

    Example:
        >>> table = read(None, "test", {})
        >>> table.num_rows, table["source"][0].as_py()
        (80, 'generated')
    """
    return make_pqpp_table(read_json(Path(__file__).with_name("sample.json"))[split])


BENCHMARKS = (load_entry("sample", features=get_features, read=read),)
