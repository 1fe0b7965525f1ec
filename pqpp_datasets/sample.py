"""A small generated benchmark with the columns of PQPP, for trying things out with no data at all.

Nothing in it was rated by people and nothing was generated or retrieved: captions were drawn from
a small grammar and every score is a formula of the caption plus noise. Its phrases are hard by how
many things, letters or actions they contain, and long ones are as often easy as hard: the number
and the length of words say nothing there, and what a predictor reaches proves nothing. Its rows say
so: `source` is `generated`, and every `prompt_id` begins with `generated-`.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import load_entry
from pqpp_datasets.pqpp import get_features, make_table
from pqpp_files.foreign.json_values import read_json


def read(folder: Path | None, split: str, options: Mapping[str, object]) -> pa.Table:
    """Return one split of the generated benchmark.

    Example:
        >>> table = read(None, "test", {})
        >>> table.num_rows, table["source"][0].as_py()
        (80, 'generated')
    """
    return make_table(read_json(Path(__file__).with_name("sample.json"))[split])


BENCHMARKS = (load_entry("sample", features=get_features, read=read),)
