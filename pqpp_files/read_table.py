"""Reading a table that a user has: CSV, TSV, JSON, JSON Lines, Parquet or plain text, all alike.

The only reader of such files in this project. Cells of CSV are text and stay as they are written,
ids in them too; `Table.values` says which columns hold numbers. Cells of JSON and Parquet are what
the file says.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError
from pqpp_files.table_formats import Format, Separated, source_of

_MISSING = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")


class Table:
    """Columns of a file.

    Attributes:
        path: The file, as it was named.
        columns: Column to cells, in the file's order.
    """

    def __init__(self, path: str, columns: dict[str, list], source: Format, remedy: str) -> None:
        self.path, self.columns = path, columns
        self._source, self._remedy = source, remedy

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> list:
        if name not in self.columns:
            raise _no_column(self._source, [name], list(self.columns), self._remedy)
        return self.columns[name]

    def place_of(self, row: int) -> str:
        """Say in words where a row stands, counted from 0: `votes.csv, line 12`."""
        return self._source.place_of(row)

    def texts(self, name: str) -> list[str]:
        """Return a column of texts.

        Raises:
            FileError: There is no such column, or a cell is no text.
        """
        cells = self[name]
        if not all(map(str.__instancecheck__, cells)):
            row = next(n for n, cell in enumerate(cells) if not isinstance(cell, str))
            raise FileError(
                f"{self.place_of(row)}: {name} is {cells[row]!r:.60}, a text is needed; correct it"
            )
        return cells

    def values(self, name: str) -> list:
        """Return a column with the numbers of a CSV file as numbers; an empty cell is None.

        Whole numbers that are written otherwise than Python writes them, like 007, are ids: such a
        column stays text, and so does one with any other text.
        """
        cells = self[name]
        return _typed(cells) if isinstance(self._source, Separated) else cells

    def numbers(self, name: str) -> list[float]:
        """Return a column of numbers; NaN where a cell is empty.

        Raises:
            FileError: There is no such column, or a cell is no number.
        """
        found = []
        for row, cell in enumerate(self[name]):
            try:
                found.append(_number(cell))
            except (TypeError, ValueError):
                raise FileError(
                    f"{self.place_of(row)}: {name} is {cell!r:.60}, a number is needed; correct it"
                ) from None
        return found


def read_table(
    path: str | Path,
    columns: Sequence[str] | None = None,
    plain: str = "value",
    kinds: Sequence[str] | None = None,
    remedy: str = "name the columns so",
) -> Table:
    r"""Read a table from a file.

    The name tells the format: `.csv` (cells separated by `,`, `;`, a tab or `|`, as the header
    says), `.tsv`, `.json` (a list), `.jsonl`, `.parquet`, and `.txt` or no suffix (a text a line);
    all but Parquet may be packed (`.gz`).

    Args:
        path: The file, UTF-8 with or without a byte order mark.
        columns: What to read; all of it if None. A column that is not there is refused.
        plain: What the column of records that are no objects, or of lines of text, is called.
        kinds: The suffixes that are allowed; all if None.
        remedy: What to do about a missing column, for the error.

    Raises:
        FileError: There is no such file, or it is damaged, of another format, empty, or has no such
            column, or a row has another number of cells than the header; one line that names the
            line of the file.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text('id;prompt;score\n007;"a cat;\na mat";.5\n')
        >>> table = read_table(path)
        >>> table.columns
        {'id': ['007'], 'prompt': ['a cat;\na mat'], 'score': ['.5']}
        >>> table.values("id"), table.values("score"), table.place_of(0)[-6:]
        (['007'], [0.5], 'line 2')
    """
    source = source_of(Path(path), columns, plain, kinds)
    found = _gathered(source, list)
    if columns is not None:
        missing = [name for name in columns if name not in found]
        if missing:
            raise _no_column(source, missing, source.names, remedy)
    return Table(str(path), found, source, remedy)


class Codes:
    """A column as a whole number for each row, and the distinct values that the numbers stand for.

    It keeps a million rows within a few megabytes. The codes are in the order of first appearance.

    Attributes:
        codes: int32, a position in `values` each.
        values: The distinct cells; None stands for an empty one.
    """

    def __init__(self, cells: Iterable[Any] = ()) -> None:
        self.codes = array("i")
        self._places: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
        self.extend(cells)

    @property
    def values(self) -> list:
        """See above."""
        return list(self._places)

    def extend(self, cells: Iterable[Any]) -> None:
        """Take in further cells."""
        self.codes.extend(map(self._places.__getitem__, cells))


def read_codes(
    path: str | Path,
    columns: Sequence[str],
    kinds: Sequence[str] | None = None,
) -> tuple[dict[str, Codes], list[str]]:
    """Read columns as `Codes`, in little memory; numbers of JSON stay the text that they are.

    Args:
        path: As for `read_table`.
        columns: What to read, where it is there.
        kinds: As for `read_table`.

    Returns:
        Column to codes, for those that are there, and the names of all columns of the file.

    Raises:
        FileError: As of `read_table`, or a cell is a list or an object.
    """
    source = source_of(Path(path), columns, None, kinds)
    found = _gathered(source, Codes, as_written=True)
    return {name: found[name] for name in columns if name in found}, source.names


def _gathered(source: Format, new: Any, as_written: bool = False) -> dict[str, Any]:
    """Put blocks together, a `new()` a column; a block may bring columns, or lack them."""
    found: dict[str, Any] = {}
    before = 0
    for rows, columns in source.blocks(as_written):
        for name in columns:
            if name not in found:
                found[name] = new(itertools.repeat(None, before))
        for name, column in found.items():
            try:
                column.extend(columns[name] if name in columns else itertools.repeat(None, rows))
            except TypeError:  # what holds values has no hash
                nested = [isinstance(cell, list | dict) for cell in columns[name]].index(True)
                kind = "a list" if isinstance(columns[name][nested], list) else "an object"
                raise FileError(
                    f"{source.place_of(before + nested)}: {name} is {kind}, a text or a number is "
                    "allowed; give each value a row of its own"
                ) from None
        before += rows
    return found


def _no_column(
    source: Format, missing: Sequence[str], names: Sequence[str], remedy: str
) -> FileError:
    where = f"{source.path}, line 1" if isinstance(source, Separated) else source.path
    known = ", ".join(n if n.isprintable() else ascii(n) for n in names)[:200] or "none"
    return FileError(f"{where}: no column {', '.join(map(repr, missing))} among {known}; {remedy}")


def _typed(cells: Sequence[str]) -> list:
    """Return cells of a CSV column as whole numbers, numbers, or texts; None where empty."""
    filled = set(cells) - _MISSING
    if all(map(_WHOLE.fullmatch, filled)):
        known: dict[str, Any] = {cell: int(cell) for cell in filled}
    else:
        try:
            known = {cell: _number(cell) for cell in filled}
        except ValueError:
            return [cell or None for cell in cells]
        if any(cell.lstrip("+-").isdigit() and not _WHOLE.fullmatch(cell) for cell in filled):
            return [cell or None for cell in cells]
    return [known.get(cell) for cell in cells]


def _number(cell: Any) -> float:
    """Return a cell as a number, NaN where it is empty; raise where it is none."""
    if cell is None or cell in _MISSING:
        return float("nan")
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        raise ValueError
    return float(cell)
