"""Write tables as CSV, JSON, JSON Lines or Parquet.

`read_table` and other programs read each cell unchanged, including any line breaks in it.
Tables of results, whose cells are names and numbers, are written by pandas.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from pqpp_files.errors import reraise

_INNER = (list, tuple, dict)


def format_table(style: str, columns: Mapping[str, Sequence[Any]]) -> str:
    r"""Return a table as text.

    Args:
        style: csv, json or jsonl; in a CSV a list or an object is JSON.
        columns: The cells of each column by name; all columns must have the same length.

    Example:
        >>> format_table("csv", {"prompt": ["a\rcat", "a dog"], "score": [0.5, None]})
        'prompt,score\n"a\rcat",0.5\na dog,\n'
        >>> format_table("jsonl", {"prompt": ["a cat", "a dog"]})
        '{"prompt": "a cat"}\n{"prompt": "a dog"}\n'
    """
    rows = zip(*columns.values(), strict=True)
    if style == "csv":
        # A cell with any part of the line end is quoted: with "\r\n" that is each kind of break.
        lines: list[str] = []
        writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
        writer.writerow(columns)
        for row in rows:
            cells = (json.dumps(c, ensure_ascii=False) if isinstance(c, _INNER) else c for c in row)
            writer.writerow(cells)
        return "".join(line[:-2] + "\n" for line in lines)
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    if style == "json":
        return json.dumps(records, ensure_ascii=False, indent=1) + "\n"
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def to_parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Return a table as a Parquet file.

    Args:
        columns: As in `format_table`.

    Raises:
        FileError: A column contains values of different types, or numbers beyond 64 bits.

    Example:
        >>> import io, pyarrow.parquet
        >>> content = to_parquet({"prompt": ["a cat", "a dog"]})
        >>> pyarrow.parquet.read_table(io.BytesIO(content))["prompt"].to_pylist()
        ['a cat', 'a dog']
    """
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {}
    for name, cells in columns.items():
        with reraise(f"column {name!r} cannot be written as Parquet", "write a .jsonl file"):
            arrays[name] = pa.array(cells)
    file = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table(arrays), file)
    return file.getvalue().to_pybytes()
