"""Write tables as CSV, TSV, JSON, JSON Lines, Parquet or Excel.

`read_table` and other programs read each cell unchanged, including any line breaks in it.
Tables of results, whose cells are names and numbers, are written by pandas.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

from pqpp_files.errors import reraise
from pqpp_files.extras import require_extra

BINARY_STYLES = {"parquet": "Parquet", "xlsx": "ZIP"}
"""The formats that are not text, each with its type as in `refuse_other_file_type`."""
TABLE_STYLES = ("csv", "tsv", "json", "jsonl", *BINARY_STYLES)
_MAX_ROWS, _MAX_CHARACTERS, _MAX_NUMBER = 1_048_576, 32_767, 10**15
"""Limits of an Excel sheet: rows, characters of a cell, and exact numbers."""


def format_table(style: str, columns: Mapping[str, Sequence[Any]]) -> str:
    r"""Return a table as text.

    Args:
        style: csv, tsv, json or jsonl; in CSV and TSV a list or an object is JSON. In JSON, NaN is
            null, and values that JSON does not have, such as dates, are text.
        columns: The cells of each column by name; all columns must have the same length.

    Example:
        >>> format_table("csv", {"prompt": ["a\rcat", "a dog"], "score": [0.5, None]})
        'prompt,score\n"a\rcat",0.5\na dog,\n'
        >>> format_table("jsonl", {"prompt": ["a cat", "a dog"]})
        '{"prompt": "a cat"}\n{"prompt": "a dog"}\n'
    """
    rows = zip(*columns.values(), strict=True)
    if style in ("csv", "tsv"):
        # Cells with a character of the line terminator are quoted, so "\r\n" covers every break.
        lines: list[str] = []
        delimiter, file = "\t" if style == "tsv" else ",", SimpleNamespace(write=lines.append)
        writer = csv.writer(file, lineterminator="\r\n", delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(map(_flatten, row) for row in rows)
        return "".join(line[:-2] + "\n" for line in lines)
    records = [dict(zip(columns, map(_replace_nan, row), strict=True)) for row in rows]
    if style == "json":
        return _to_json(records, 1) + "\n"
    return "".join(_to_json(record) + "\n" for record in records)


def encode_table(style: str, columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Return a table as a file.

    Args:
        style: One of `TABLE_STYLES`. In Excel, texts like "=A1" stay texts.
        columns: As in `format_table`.

    Raises:
        FileError: A column contains values of different types or numbers beyond 64 bits (Parquet),
            control characters, or too many rows or characters (Excel).
        MissingExtraError: openpyxl is not installed (Excel).

    Example:
        >>> import pyarrow.parquet
        >>> content = encode_table("parquet", {"prompt": ["a cat", "a dog"]})
        >>> pyarrow.parquet.read_table(io.BytesIO(content))["prompt"].to_pylist()
        ['a cat', 'a dog']
    """
    if style not in BINARY_STYLES:
        return format_table(style, columns).encode()
    file, arrays = io.BytesIO(), {}
    if style == "parquet":
        import pyarrow as pa
        import pyarrow.parquet

        for name, cells in columns.items():
            with reraise(f"column {name!r} cannot be written as Parquet", "write a .jsonl file"):
                arrays[name] = pa.array(cells)
        pa.parquet.write_table(pa.table(arrays), file)
        return file.getvalue()
    with require_extra("writing an Excel file", "excel"):
        from openpyxl import Workbook
    sheet: Any = (book := Workbook()).active
    with reraise("the table cannot be written as Excel", "write a .csv file"):
        for row in [tuple(columns), *zip(*columns.values(), strict=True)]:
            sheet.append([*map(_to_excel, row)])
        if sheet.max_row > _MAX_ROWS:
            raise ValueError(f"it has over {_MAX_ROWS:,} rows")
        for cell in chain.from_iterable(sheet):
            cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
        book.save(file)
    return file.getvalue()


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def _replace_nan(cell: Any) -> Any:
    return None if isinstance(cell, float) and cell != cell else cell


def _flatten(cell: Any) -> Any:
    """Return a list or an object as JSON, and another cell unchanged."""
    return _to_json(cell) if isinstance(cell, list | tuple | dict) else cell


def _to_excel(cell: Any) -> Any:
    """Return a cell as in CSV, but NaN as None, and a number that Excel would round as text."""
    cell = _flatten(_replace_nan(cell))
    if isinstance(cell, str) and len(cell.encode("utf-16-le")) > 2 * _MAX_CHARACTERS:
        raise ValueError(f"a cell has over {_MAX_CHARACTERS:,} characters")
    return str(cell) if isinstance(cell, int | float) and abs(cell) >= _MAX_NUMBER else cell
