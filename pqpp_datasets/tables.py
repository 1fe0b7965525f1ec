"""Strict reading of CSV files: Arrow's fast path, and a slow one that finds the line at fault.

A published file is either read exactly or refused with its name, the line and the remedy; no cell
is ever guessed, dropped or turned into a missing value.
"""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pqpp_datasets.errors import DataFileError, MissingFileError

REMEDY = "restore the file as published, or correct that line"


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

    def accepts(self, cell: str) -> bool:
        """Tell whether the text of a cell is a value of this column."""
        if self.optional and not cell:
            return True
        if self.type == "string":
            return bool(cell.strip()) and (not self.values or cell in self.values)
        try:
            number = int(cell) if self.type == "int64" else float(cell)
        except ValueError:
            return False
        return math.isfinite(number) and (self.low is None or self.low <= number <= self.high)


def read_csv(path: Path, columns: Mapping[str, Column]) -> pa.Table:
    r"""Read the named columns of a CSV file, all cells present and in range.

    Args:
        path: The file, UTF-8 with a header line; quoted cells may hold newlines.
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
    _require_columns(path, columns)
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types={name: getattr(pa, c.type)() for name, c in columns.items()},
                include_columns=list(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _explained(path, columns, str(error)) from None
    if not all(_is_allowed(table[name], column) for name, column in columns.items()):
        raise _explained(path, columns, "a cell is not allowed")
    if not table.num_rows:
        raise DataFileError(f"{path}, line 2: no row follows the header; {REMEDY}")
    return table.combine_chunks()


def _is_allowed(cells: pa.ChunkedArray, column: Column) -> bool:
    if cells.null_count:
        if not column.optional:
            return False
        cells = cells.drop_null()
    if column.type == "string":
        blank = pc.any(pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(cells)), 0)).as_py()
        known = not column.values or pc.all(pc.is_in(cells, pa.array(column.values))).as_py()
        return not blank and known is not False
    if column.type == "float64" and pc.all(pc.is_finite(cells)).as_py() is False:
        return False
    if column.low is None or not len(cells):
        return True
    extremes = pc.min_max(cells).as_py()
    return column.low <= extremes["min"] and extremes["max"] <= column.high


def _require_columns(path: Path, columns: Mapping[str, Column]) -> None:
    try:
        # Only the names are looked at here; a byte that is no UTF-8 is found with its line below.
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            header = next(csv.reader(file), None)
    except csv.Error as error:
        raise DataFileError(f"{path}, line 1: not a text file ({error}); {REMEDY}") from None
    if not header:
        raise DataFileError(f"{path}, line 1: the file is empty; restore the file as published")
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataFileError(
            f"{path}, line 1: no column {', '.join(missing)} among {', '.join(header)[:200]}; "
            "restore the file as published, or name the columns so"
        )


def _explained(path: Path, columns: Mapping[str, Column], otherwise: str) -> DataFileError:
    """Read the file again, cell by cell, for the first line that is not allowed."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _first_fault(path, columns, csv.reader(file, strict=True), otherwise)
    except UnicodeDecodeError as error:
        line = _first_line_that_is_not_utf8(path)
        return DataFileError(f"{path}, line {line}: not UTF-8 ({error.reason}); {REMEDY}")


def _first_line_that_is_not_utf8(path: Path) -> int:
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return 1


def _first_fault(path: Path, columns, reader, otherwise: str) -> DataFileError:
    header = next(reader)
    try:
        for row in reader:
            if not row:
                continue
            where = f"{path}, line {reader.line_num}"
            if len(row) != len(header):
                return DataFileError(
                    f"{where}: {len(row)} cells came, the header has {len(header)} "
                    f"(a cut or damaged file?); {REMEDY}"
                )
            cells = dict(zip(header, row, strict=True))
            for name, column in columns.items():
                if not column.accepts(cells[name]):
                    return DataFileError(
                        f"{where}: column {name} is {cells[name][:80]!r}, {column.allowed()} is "
                        f"allowed; {REMEDY}"
                    )
    except csv.Error as error:
        return DataFileError(f"{path}, line {reader.line_num}: {error}; {REMEDY}")
    return DataFileError(f"{path}: {otherwise.splitlines()[0][:200]}; {REMEDY}")
