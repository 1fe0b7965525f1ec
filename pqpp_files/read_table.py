"""Read a user's table in any of the `FORMATS` of `pqpp_files.table_formats`.

This is the project's only reader of such files. Cells of CSV are text and are not changed,
including ids; `Table.values` converts columns of numbers. Cells of JSON and Parquet
keep their values.
"""

import functools
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError
from pqpp_files.open_input import Input
from pqpp_files.table_formats import (
    ADDED,
    ROW,
    UNNAMED,
    Columns,
    Format,
    find_column,
    flatten_column,
    get_inner_columns,
    open_format,
)

INDEX = "the index"  # the name of an unnamed pandas index
_MISSING = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # longer ones are ids, beyond 64 bits


class Table:
    """A table that was read from a file.

    Attributes:
        path: The file as named by the caller.
        columns: The cells of each column by name, in the file's order.
        is_text: Whether all cells are texts, as in CSV.
        index: The name of the index that pandas wrote into a Parquet file, and its cells: a range
            if it only counts the rows, tuples if it has several levels. None elsewhere.
    """

    index: tuple[str, Sequence] | None = None

    def __init__(self, path: str, columns: dict[str, list], source: Format, remedy: str) -> None:
        self.path, self.columns = path, columns
        self.is_text = source.is_text
        self._source, self._remedy = source, remedy

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> list:
        return self.columns[self.find(name)]

    def find(self, name: str) -> str:
        """Return a column's name in the file, as in `find_column`.

        A name with dots may refer to a field in the objects of another column.

        Raises:
            FileError: The column does not exist.
        """
        column, source = name, self._source
        if name not in self.columns:
            examples = {n: next(filter(None, cells), None) for n, cells in self.columns.items()}
            objects = {n: cell for n, cell in examples.items() if isinstance(cell, dict)}
            names = [*self.columns, *(f"{n}.{key}" for n, cell in objects.items() for key in cell)]
            column = find_column(names, name) or name
            if column not in names:
                raise _make_column_error(source, [name], self._remedy)
            self.columns |= get_inner_columns(self.columns, [column])
            source.assumptions |= {f"column {column} for {name}": None} if column != name else {}
        log_assumptions(self.path, *source.assumptions)
        source.assumptions.clear()
        return column

    def locate(self, row: int) -> str:
        """Return the file and line of the row at a 0-based index, such as `votes.csv, line 12`."""
        return self._source.locate(row)

    def texts(self, name: str) -> list[str]:
        """Return the cells of a text column; a missing cell is empty.

        Raises:
            FileError: The column does not exist, or a cell is not text.
        """
        cells = ["" if cell is None else cell for cell in self[name]]
        if invalid := [n for n, cell in enumerate(cells) if not isinstance(cell, str)]:
            raise self._make_cell_error(name, invalid[0], "text")
        return cells

    def values(self, name: str) -> list:
        """Return the cells of a column; numbers in CSV are converted, and an empty cell is None.

        Integers in non-canonical form, like 007, or with more than 18 digits are ids: their column
        stays text, as does one with any other text.
        """
        cells = self[name]
        if not self.is_text:
            return cells
        filled = set(cells) - _MISSING
        others = [cell for cell in filled if not _INTEGER.fullmatch(cell)]
        try:
            if any(cell.lstrip("+-").isdigit() for cell in others):
                raise ValueError
            numbers = {cell: _to_number(cell) if others else int(cell) for cell in filled}
        except ValueError:
            return [cell or None for cell in cells]
        return [numbers.get(cell) for cell in cells]

    def numbers(self, name: str) -> list[float]:
        """Return the cells of a numeric column as floats; an empty cell is NaN.

        Raises:
            FileError: The column does not exist, or a cell is not a number.
        """
        cells, numbers = self[name], []
        try:
            for cell in cells:
                numbers.append(cell if type(cell) is float else _to_number(cell))
        except (TypeError, ValueError, OverflowError):
            raise self._make_cell_error(name, len(numbers), "a number") from None
        return numbers

    def _make_cell_error(self, name: str, row: int, expected: str) -> FileError:
        fault = f"column {name!r} is {self[name][row]!r:.60}, expected {expected}"
        return FileError(f"{self.locate(row)}: {fault}; correct the cell")


@functools.lru_cache(1024)
def log_assumptions(path: str, *assumptions: str) -> None:
    """Log assumptions about a file on one line, once per process."""
    if assumptions:
        logging.getLogger(__name__).warning("%s: assumed %s", path, ", ".join(assumptions))


def read_table(
    path: str | Path | Input,
    columns: Sequence[str] | None = None,
    plain: str = "value",
    kinds: Sequence[str] | None = None,
    remedy: str = "rename a column",
    header: bool | None = None,
) -> Table:
    r"""Read a table from a file.

    The format is that of the suffix, or else that of the content: `.csv` (separated by `,`, `;`, a
    tab or `|`), `.tsv`, `.json` (a list, alone or under a key, an object of objects or of columns,
    or JSON Lines), `.jsonl`, `.parquet`, `.xlsx` (one sheet) and `.txt` (one text per line). All
    can be gzipped (`.gz`). `-` is standard input, and `-.csv` is standard input as CSV. Guesses are
    logged.

    Args:
        path: The file, UTF-8 with or without a byte order mark.
        columns: The columns to read; None for all. A missing column is an error.
        plain: The column name for lines of text, or for records that are not objects.
        kinds: The allowed suffixes; None for all.
        remedy: How to fix a missing column, for the error.
        header: Whether the first line of CSV and TSV contains the column names; otherwise they are
            1, 2, ... None if the caller has no option `no_header`.

    Raises:
        FileError: The file does not exist, is damaged, empty or of another format, a column is
            missing, the header consists of numbers, or a row is longer or shorter than the header.
            The error gives the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text('id;prompt;score\n007;"a cat;\na mat";.5\n')
        >>> table = read_table(path)
        >>> table.columns
        {'id': ['007'], 'prompt': ['a cat;\na mat'], 'score': ['.5']}
        >>> table.values("id"), table.values("score"), table.locate(0)[-6:]
        (['007'], [0.5], 'line 2')
    """
    source = open_format(path, columns, plain, kinds)
    source.has_header = header
    cells = source.read()
    if missing := [name for name in columns or () if name not in cells]:
        raise _make_column_error(source, missing, remedy)
    table = Table(source.path, cells, source, remedy)
    index = source.index if columns is None else ()
    if isinstance(index, range):
        table.index = INDEX, index
    elif index:
        levels = [cells[name] for name in index]
        name = ",".join(INDEX if n.startswith(UNNAMED) else n for n in index)
        table.index = name, levels[0] if len(levels) == 1 else list(zip(*levels, strict=True))
    table.columns = {name: column for name, column in cells.items() if not name.startswith(UNNAMED)}
    return table


def read_columns(
    path: str | Path,
    columns: Sequence[str],
    kinds: Sequence[str] | None = None,
    nested: str | None = None,
    encoding: str | None = None,
) -> tuple[Columns, list[str]]:
    r"""Read those of the named columns that a file has; numbers in JSON are kept as text.

    Args:
        path: As in `read_table`.
        columns: The columns to read if they exist; `data.prompt` may also be the field `prompt` of
            the objects in a column `data` (see `get_inner_columns`).
        kinds: As in `read_table`.
        nested: A column whose lists and objects become one row per value, with two further columns
            (see `flatten_column`).
        encoding: As in `Input`.

    Returns:
        The columns found, by requested name, with the number of each row in the column `ROW`, and
        the names of all columns of the file.

    Raises:
        FileError: See `read_table`, or a cell is a list or an object.
    """
    parents = dict.fromkeys(name.split(".")[0] for name in columns if "." in name)
    source = open_format(Input(path, encoding), (*columns, *parents), None, kinds)
    cells = {source.read_as.get(n, n): c for n, c in source.read(numbers_as_text=True).items()}
    log_assumptions(source.path, *source.assumptions)
    cells = get_inner_columns(cells, columns) if parents else cells
    cells[ROW] = source.number_rows(len(next(iter(cells.values()), ())))
    cells = cells if nested is None else flatten_column(cells, nested, columns)
    table = {name: cells[name] for name in (*columns, *ADDED) if name in cells}
    for name, column in table.items():
        row = next((n for n, cell in enumerate(column) if isinstance(cell, list | dict)), None)
        if row is not None:
            kind = "a list" if isinstance(column[row], list) else "an object"
            fault = f"column {name!r} contains {kind}; give each value its own row"
            raise FileError(f"{source.path}, {source.row_is} {table[ROW][row]}: {fault}")
    return table, source.names


def _make_column_error(source: Format, missing: Sequence[str], remedy: str) -> FileError:
    where, names = source.path + ", line 1" * source.is_text, " or ".join(map(repr, missing))
    known = ", ".join(n if n.isprintable() else ascii(n) for n in source.names)[:200] or "none"
    return FileError(f"{where}: no column {names} (columns: {known}); {remedy}")


def _to_number(cell: Any) -> float:
    """Return a cell as a number, NaN if it is empty; raise an error if it is not a number."""
    if cell is None or cell in _MISSING:
        return float("nan")
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        raise ValueError
    return float(cell)
