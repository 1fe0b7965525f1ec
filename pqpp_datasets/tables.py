"""Strict reading of published CSV files: read exactly, or refused with the line and the remedy.

No cell is ever guessed, dropped or turned into a missing value.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_files.errors import FileError
from pqpp_files.read_table import read_table

REMEDY = "restore the file as published, or correct that line"
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Column:
    """What a column must hold.

    Attributes:
        type: `string`, `int64` or `float64`.
        low: The least value allowed, for numbers.
        high: The greatest value allowed, for numbers.
        values: The only values allowed, for strings.
        optional: Whether a cell may be empty; it is then null.
    """

    type: str
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    optional: bool = False

    def allowed(self) -> str:
        """Say in words what a cell may be."""
        if self.values:
            return "one of " + ", ".join(self.values)
        kind = {"string": "a text", "int64": "a whole number", "float64": "a finite number"}[
            self.type
        ]
        return kind if self.low is None else f"{kind} from {self.low:g} to {self.high:g}"

    def value_of(self, cell: str) -> str | int | float | None:
        """Return what the text of a cell stands for.

        Raises:
            ValueError: It is not allowed.
        """
        if self.optional and not cell:
            return None
        if self.type == "string":
            if not cell.strip() or (self.values and cell not in self.values):
                raise ValueError
            return cell
        if (self.type == "int64" and not _WHOLE.fullmatch(cell)) or "_" in cell:
            raise ValueError
        number = int(cell) if self.type == "int64" else float(cell)
        low, high = self.low, math.inf if self.high is None else self.high
        if not math.isfinite(number) or not (low is None or low <= number <= high):
            raise ValueError
        return number


def not_as_published(error: FileError) -> DataFileError:
    """Return a reader's error with the remedy of a published file in the place of its own."""
    return DataFileError(f"{str(error).rpartition('; ')[0] or error}; {REMEDY}")


def read_csv(path: Path, columns: Mapping[str, Column]) -> pa.Table:
    r"""Read the named columns of a CSV file, all cells present and in range.

    Args:
        path: The file, with a header line; quoted cells may hold newlines.
        columns: What each wanted column must hold; other columns are ignored.

    Returns:
        A table with exactly these columns, in this order.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If a column is missing or a cell is not allowed; names file and line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text("caption,score\nA red car.,1.5\n")
        >>> read_csv(path, {"score": Column("float64", -1, 2)}).to_pydict()
        {'score': [1.5]}
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file; give the published folder")
    try:
        table = read_table(path, list(columns), remedy=REMEDY)
    except FileError as error:
        raise not_as_published(error) from None
    if not len(table):
        raise DataFileError(f"{path}, line 2: no row follows the header; {REMEDY}")
    known: dict[str, dict] = {}
    faults = []
    for name, column in columns.items():
        known[name] = {}
        for row, cell in enumerate(table[name]):
            if cell not in known[name]:
                try:
                    known[name][cell] = column.value_of(cell)
                except ValueError:
                    faults.append((row, name))
                    break
    if faults:
        row, name = min(faults)
        raise DataFileError(
            f"{table.place_of(row)}: column {name} is {table[name][row][:80]!r}, "
            f"{columns[name].allowed()} is allowed; {REMEDY}"
        )
    return pa.table(
        {
            name: pa.array(map(known[name].__getitem__, table[name]), getattr(pa, column.type)())
            for name, column in columns.items()
        }
    )
