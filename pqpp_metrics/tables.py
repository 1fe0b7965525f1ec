"""Open the files and tables of a metric's inputs, and join their rows.

Rows of several files are joined by their ids, or by position if there are none.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pqpp_files.read_table import INDEX, Table, read_table
from pqpp_metrics.errors import MetricInputError

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
TREC = (".run", ".qrels", ".trec", ".txt")


@dataclass
class Reading:
    """How files are read.

    Attributes:
        missing: How to handle queries that only the run or the qrels have, or ids that only some
            tables have (zero is for queries).
        nan: How to handle rows with an empty cell or NaN: let the metric decide (most refuse them),
            or drop and count them.
        ids: Columns to join files by (default: detected).
        header: Whether the first line of CSV names the columns.
    """

    missing: Literal["error", "zero", "drop"] = "error"
    nan: Literal["error", "drop"] = "error"
    ids: Sequence[str] = ()
    header: bool = True


class Source(NamedTuple):
    """A file or table, its named columns, and its rows.

    Attributes:
        path: The file, or the name of a table in memory.
        columns: The named columns; None if none was named.
        table: A `Table`; None for a TREC file, which is read as a run or as judgments.
    """

    path: str
    columns: str | None
    table: Any


def load_source(
    name: str, source: Any, how: Reading, are_trec: Sequence[str], known: dict[Any, Table]
) -> Source:
    """Find the source of an input, and read it if it is a table.

    Args:
        name: The input.
        source: `FILE` or `FILE:COLUMNS`, a table, or a pair of a table and its column or columns.
        how: How tables are read.
        are_trec: The paths of TREC files, which are read later.
        known: The tables read so far, so that each is read once.

    Raises:
        FileError: The file cannot be read, or its first line consists of numbers.
    """
    data, columns = source if isinstance(source, tuple) else (source, None)
    if isinstance(data, str):
        path, columns = split_path_and_columns(data)
        if path not in are_trec and path not in known:
            known[path] = read_table(path, kinds=TABLES, header=how.header)
        return Source(path, columns, known.get(path))
    if id(data) not in known:
        known[id(data)] = MemoryTable(f"the table of {name}", data)
    table = known[id(data)]
    columns = columns if isinstance(columns, str | None) else ",".join(columns)
    return Source(table.path, columns, table)


def split_path_and_columns(text: str) -> tuple[str, str | None]:
    """Split FILE:COLUMN at the last colon, or after a file that exists.

    Example:
        >>> split_path_and_columns("votes.csv:a,b"), split_path_and_columns("votes.csv")
        (('votes.csv', 'a,b'), ('votes.csv', None))
    """
    starts = accumulate(text.split(":"), "{}:{}".format)
    path = next(filter(os.path.exists, [text, *starts]), text.rpartition(":")[0])
    column = text[len(path) + 1 :]
    if not path or not column or ("/" in column and not Path(path).exists()):
        return text, None
    return path, column


class MemoryTable(Table):
    """A frame of pandas or polars, a table of Arrow or datasets, or a dict of columns."""

    is_text = False

    def __init__(self, name: str, data: Any) -> None:
        names = list(getattr(data, "column_names", getattr(data, "columns", data)))
        self.path, self.columns = name, {str(column): _list_cells(data[column]) for column in names}
        if hasattr(data, "iloc"):  # pandas, whose index may name the rows
            names = [str(INDEX if name is None else name) for name in data.index.names]
            is_range = type(data.index).__name__ == "RangeIndex"
            cells: Sequence[Any] = range(len(data)) if is_range else data.index.tolist()
            self.index = ",".join(names), cells

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            known = ", ".join(self.columns)[:200]
            raise MetricInputError(f"{self.path}: no column {name!r} (columns: {known})")
        return self.columns[name]

    def locate(self, row: int) -> str:
        """Return the table's name and the number of a row; `row` counts from 0."""
        return f"{self.path}, row {row + 1}"


def _list_cells(column: Any) -> list[Any]:
    methods = ("to_pylist", "tolist", "to_list")
    method = next((method for method in methods if hasattr(column, method)), None)
    return list(column) if method is None else getattr(column, method)()


# Columns to join rows by: the first that all files have; ids are read as text.
KEYS = ("id", "query_id", "prompt_id", "prompt")
_MAX_IDS = 3  # ids that a message lists
_SEPARATOR = "\x1f"  # between the parts of an id of several columns


class _TableWithIds(NamedTuple):
    """A file with its possible id columns, each with one text per row."""

    path: str
    table: Table
    ids: dict[str, list[str]]


def join_tables(
    tables: Mapping[str, Table],
    used: Mapping[str, set[str]],
    id_columns: Sequence[str] = (),
    missing: str = "error",
) -> tuple[Mapping[str, Sequence[int]], list[str] | None, str]:
    """Join the rows of files by their ids.

    Ids are a column or the pandas index of a Parquet file. If every file has ids, the files are
    joined by them, whatever the columns are called. Ids may repeat only if all files have the same
    ids in the same order.

    Args:
        used: The scored columns by file, which cannot be ids.
        id_columns: The columns that together are the id; default: `KEYS` and indexes.
        missing: `drop` leaves out ids that not every file has, anything else refuses them.

    Returns:
        The rows by file, in the order of the first file; the text that names each row, or None; and
        what was done, in words, empty for one file.

    Raises:
        MetricInputError: An id is missing or duplicate, or only some of several files have ids;
            or rows that match in one id column differ in another, and no column was named.
        FileError: A named column is missing from a file.
    """
    # A range index identifies rows only if the index of another file is not a range.
    are_ranges = all(isinstance(table.index[1], range) for table in tables.values() if table.index)
    files = [
        _TableWithIds(p, table, _find_id_columns(table, used[p], id_columns, are_ranges))
        for p, table in tables.items()
    ]
    rows: dict[str, Sequence[int]] = {path: range(len(table)) for path, table in tables.items()}
    with_ids = [file for file in files if file.ids]
    lacking = [file.path for file in files if not file.ids]
    # The id column of each file: one that all files have, or else the likeliest one.
    common = [n for file in with_ids for n in file.ids if all(n in other.ids for other in with_ids)]
    names = [(common or list(file.ids))[0] for file in with_ids]
    texts = [file.ids[name] for file, name in zip(with_ids, names, strict=True)]
    are_equal = all(ids == texts[0] for ids in texts)
    if lacking:
        if not are_equal:
            fault = f"{with_ids[0].path} and {with_ids[1].path} differ in the column {names[0]!r}"
            raise MetricInputError(f"{fault}; to join the files, add this column to {lacking[0]}")
        note = f": {', '.join(lacking)} have no ids" if with_ids else ""
        return rows, None, f"paired by row{note}" if len(files) > 1 else ""
    if not are_equal:
        rows = _match_rows(files, names, texts, missing)
    row_ids = [texts[0][row] for row in rows[files[0].path]]
    if len(files) < 2:
        return rows, row_ids, ""
    id_name = " = ".join(dict.fromkeys(names))
    _check_same_rows(files, id_name, rows)
    dropped = sum(map(len, texts)) - len(row_ids) * len(texts)
    note = f", {dropped:,} unmatched rows left out" if dropped else ""
    return rows, row_ids, f"joined on {id_name}, {len(row_ids):,} rows{note}"


def _find_id_columns(
    table: Table, used: set[str], id_columns: Sequence[str], without_ranges: bool
) -> dict[str, list[str]]:
    """Return the candidate id columns of a file, the likeliest first: a dict from name to texts."""
    index, labels = table.index or ("", ())

    def get_texts(*names: str) -> list[str]:
        columns = [labels if name == index else table[name] for name in names]
        return list(map(as_text, zip(*columns, strict=True)))

    if id_columns:
        return {",".join(id_columns): get_texts(*id_columns)}
    levels = index.split(",")
    # A column of an index with several levels is a part of an id.
    names = [key for key in KEYS if key in table and (key not in levels or key == index)]
    if index and index not in names and not (without_ranges and isinstance(labels, range)):
        names.insert(0 if len(levels) > 1 else len(names), index)
    return {name: get_texts(name) for name in names if name not in used}


def describe_dropped(rows: int) -> str:
    """Return how many rows were dropped because of NaN, in words; empty for none.

    Example:
        >>> describe_dropped(1200), describe_dropped(0)
        ('1,200 rows with NaN left out', '')
    """
    return f"{rows:,} {'row' if rows == 1 else 'rows'} with NaN left out" if rows else ""


def as_text(cell: object) -> str:
    """Return an id as text, empty if it, or a part of it, is missing.

    7.0 becomes 7, because pandas writes ids so if one of them is missing.
    """
    if isinstance(cell, tuple):
        parts = list(map(as_text, cell))
        return _SEPARATOR.join(parts) if all(parts) else ""
    if cell is None or cell != cell:
        return ""
    return re.sub(r"^(\d+)\.0$", r"\1", str(cell))


def _match_rows(
    files: Sequence[_TableWithIds], names: Sequence[str], texts: Sequence[list[str]], missing: str
) -> dict[str, Sequence[int]]:
    """Return the rows of each file in the order of the first file's ids."""
    indexes: list[dict[str, int]] = [{} for _ in files]
    for file, name, ids, index in zip(files, names, texts, indexes, strict=True):
        for row, text in enumerate(ids):
            if text and text not in index:
                index[text] = row
                continue
            fault = f"{name!r} is empty; fill in every row"
            if text:
                fault = f"duplicate {name} {_shorten(text)!r}; remove the duplicates to join rows"
            raise MetricInputError(f"{file.table.locate(row)}: {fault}")
    if not (common := set.intersection(*map(set, indexes))):
        fault = f"{' and '.join(file.path for file in files)} have no "
        fault += f"{' and '.join(dict.fromkeys(names))} in common"
        raise MetricInputError(f"{fault}; give matching files, or name the id column with `id`")
    notes = []
    for file, name, ids in zip(files, names, texts, strict=True):
        if rest := [text for text in ids if text not in common]:
            head = ", ".join(map(_shorten, rest[:_MAX_IDS])) + (", ..." if rest[_MAX_IDS:] else "")
            notes.append(f"{file.path} has {name!r} that other files lack, {len(rest):,} ({head})")
    if notes and missing != "drop":
        remedy = "add the rows, or set `missing` to drop (zero is for TREC files)"
        raise MetricInputError(f"{'; '.join(notes)}; {remedy}")
    shared = [text for text in indexes[0] if text in common]
    return {
        file.path: [ids[text] for text in shared] for file, ids in zip(files, indexes, strict=True)
    }


def _check_same_rows(
    files: Sequence[_TableWithIds], id_name: str, rows: Mapping[str, Sequence[int]]
) -> None:
    """Refuse rows that match in one id column but differ in another."""
    first, *others = files
    for file in others:
        for name in (n for n in first.ids if n in file.ids and n not in (id_name, INDEX)):
            a, b = first.ids[name], file.ids[name]
            pairs = zip(rows[first.path], rows[file.path], strict=True)
            if differing := [(i, j) for i, j in pairs if a[i] != b[j]]:
                i, j = differing[0]
                raise MetricInputError(
                    f"joined on {id_name}, {len(differing):,} rows differ in {name}, such as "
                    f"{first.table.locate(i)} ({_shorten(a[i])}) and "
                    f"{file.table.locate(j)} ({_shorten(b[j])}); set `id` to the right column"
                )


def _shorten(text: str) -> str:
    return text[:60].replace(_SEPARATOR, " ")
