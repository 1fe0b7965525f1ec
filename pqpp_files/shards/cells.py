"""Read the texts and ids of a shard, and describe the problem of each invalid one."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa

from pqpp_files.errors import FileError
from pqpp_files.names import is_folder_name
from pqpp_files.table_formats import find_column


def get_texts(
    table: pa.Table, column: str, cell_name: str = "", remedy: str = "rename a column"
) -> tuple[list[str], list[str | None]]:
    """Return the texts in a column, and for each cell a problem or None.

    Args:
        table: The rows of a shard.
        column: The column, by its name or as in `find_column`.
        cell_name: The name of a cell in problems; default: the column's name.
        remedy: The fix for a missing column, for the error.

    Returns:
        The texts, empty for cells that are not text, and the problems: a cell is missing, blank,
        not UTF-8 or not text.

    Raises:
        FileError: The column does not exist.

    Example:
        >>> import pyarrow as pa
        >>> get_texts(pa.table({"prompt": ["a cat", None, " "]}), "prompt")
        (['a cat', '', ' '], [None, 'the prompt is missing', 'the prompt is blank'])
    """
    names = table.column_names
    if (name := column if column in names else find_column(names, column)) is None:
        raise FileError(f"no column {column!r} (columns: {', '.join(names)[:200]}); {remedy}")
    texts: list[str] = []
    faults: list[str | None] = []
    for cell in _to_list(table[name]):
        fault = None if isinstance(cell, str) and cell.strip() else "blank"
        if not isinstance(cell, str):
            reasons = {bytes: "not UTF-8", type(None): "missing"}
            fault = reasons.get(type(cell), f"not text ({type(cell).__name__})")
        texts.append(cell if isinstance(cell, str) else "")
        faults.append(fault and f"the {cell_name or column} is {fault}")
    return texts, faults


def get_ids(table: pa.Table, column: str) -> tuple[list[str], list[str | None]]:
    """Return the ids in a column as texts, and for each cell a problem or None.

    An id must be a valid folder name and unique.

    Args:
        table: The rows of a shard.
        column: The column of texts or integers.

    Raises:
        FileError: The column does not exist.

    Example:
        >>> import pyarrow as pa
        >>> get_ids(pa.table({"id": [7, 8, 7]}), "id")
        (['7', '8', '7'], [None, None, 'duplicate id 7'])
        >>> get_ids(pa.table({"id": ["a/b"]}), "id")[1]
        ["the id 'a/b' cannot be a folder name"]
    """
    if column in table.column_names and pa.types.is_integer(table[column].type):
        table = table.drop([column]).append_column(column, table[column].cast(pa.string()))
    ids, errors = get_texts(table, column)
    seen: set[str] = set()
    for row, row_id in enumerate(ids):
        if errors[row] is None and not is_folder_name(row_id):
            errors[row] = f"the {column} {row_id!r:.80} cannot be a folder name"
        elif errors[row] is None and row_id in seen:
            errors[row] = f"duplicate {column} {row_id}"
        seen.add(row_id)
    return ids, errors


def replace_invalid_utf8(table: pa.Table) -> pa.Table:
    """Replace the invalid UTF-8 in a table's text columns, at which readers would fail.

    Raises:
        FileError: A column of another type is invalid, such as a list with such text.

    Example:
        >>> import pyarrow as pa
        >>> replace_invalid_utf8(pa.table({"prompt": ["a cat"]}))["prompt"].to_pylist()
        ['a cat']
    """
    for index, name in enumerate(table.column_names):
        column = table[name]
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                raise FileError(f"column {name!r} is damaged ({error}); write it again") from None
            cells = _to_list(column)
            valid = [c.decode("utf-8", "replace") if isinstance(c, bytes) else c for c in cells]
            table = table.set_column(index, name, pa.array(valid, column.type))
    return table


def _to_list(column: pa.ChunkedArray) -> list[Any]:
    """Return cells as Python values, with text that is not UTF-8 as bytes."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        cells = column.cast(pa.large_binary()).to_pylist()
    for row, cell in enumerate(cells):
        with contextlib.suppress(AttributeError, UnicodeDecodeError):  # None, or not UTF-8
            cells[row] = cell.decode()
    return cells
