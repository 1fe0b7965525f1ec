"""What a caller names for the inputs of a metric: files, or tables held in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pqpp_files.errors import NoHeaderError
from pqpp_files.read_table import INDEX, Table, read_table
from pqpp_metrics.errors import MetricFileError

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
TREC = (".run", ".qrels", ".trec", ".txt")


@dataclass
class Reading:
    """How files are read.

    Attributes:
        missing: What a query does that only one side has, the run or qrels, or an id that only one
            of several tables has: `error`, `zero` (runs only) or `drop`.
        nan: What a row with an empty cell or NaN does: `error` leaves it to the metric, `drop`
            leaves it out.
        ids: The columns that together name a row; found where empty.
        header: Whether the first line of CSV names the columns.
    """

    missing: str = "error"
    nan: str = "error"
    ids: Sequence[str] = ()
    header: bool = True


class Source(NamedTuple):
    """A file or a table, the columns of it that were named, and its rows.

    Attributes:
        path: The file, or what a held table is called.
        columns: As they were named; None where none was.
        table: A `Table`; None of a TREC file, which is read by its side.
    """

    path: str
    columns: str | None
    table: Any


def input_source(
    name: str, given: Any, how: Reading, are_trec: Sequence[str], known: dict[Any, Table]
) -> Source:
    """Find what was given for an input, and read it if it is a table.

    Args:
        name: The input.
        given: `FILE` or `FILE:COLUMNS`, a table, or a pair of a table and its column or columns.
        how: See there.
        are_trec: The files that are runs or judgments of TREC.
        known: The tables that were read, each read once.

    Raises:
        FileError: It can't be read.
        MetricFileError: Its first line is one of numbers.
    """
    held, columns = given if isinstance(given, tuple) else (given, None)
    if isinstance(held, str):
        path, columns = split_columns(held)
        if path not in are_trec and path not in known:
            try:
                known[path] = read_table(path, kinds=TABLES, header=how.header)
            except NoHeaderError as error:
                raise MetricFileError(f"{error}, or read them by `no_header`") from None
        return Source(path, columns, known.get(path))
    table = known.setdefault(
        id(held), known.get(id(held)) or HeldTable(f"the table of {name}", held)
    )
    return Source(
        table.path, columns if isinstance(columns, str | None) else ",".join(columns), table
    )


def split_columns(text: str) -> tuple[str, str | None]:
    """Part FILE:COLUMN; a file of that whole name wins.

    Example:
        >>> split_columns("votes.csv:a,b"), split_columns("votes.csv")
        (('votes.csv', 'a,b'), ('votes.csv', None))
    """
    path, colon, column = text.rpartition(":")
    if not colon or not path or Path(text).exists() or "/" in column or "\\" in column:
        return text, None
    return path, column


def has_suffix(path: str, kinds: Sequence[str]) -> bool:
    """Tell a file of some kinds, `TABLES` or `TREC`, by its name."""
    return Path(path.lower().removesuffix(".gz")).suffix in kinds


class HeldTable(Table):
    """A frame of pandas or polars, a table of Arrow or datasets, or a dict of columns."""

    is_text = False

    def __init__(self, name: str, held: Any) -> None:
        names = list(getattr(held, "column_names", getattr(held, "columns", held)))
        self.path, self.columns = name, {str(column): _cells(held[column]) for column in names}
        if hasattr(held, "iloc"):  # pandas, whose index may name the rows
            own = [str(INDEX if name is None else name) for name in held.index.names]
            counts = type(held.index).__name__ == "RangeIndex"
            cells: Sequence[Any] = range(len(held)) if counts else held.index.tolist()
            self.index = ",".join(own), cells

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            known = ", ".join(self.columns)[:200]
            raise MetricFileError(f"{self.path}: no column {name!r} among {known}; name one of it")
        return self.columns[name]

    def place_of(self, row: int) -> str:
        """Say in words where a row stands, counted from 0."""
        return f"{self.path}, row {row + 1}"


def _cells(column: Any) -> list[Any]:
    ways = ("to_pylist", "tolist", "to_list")
    return next((getattr(column, way)() for way in ways if hasattr(column, way)), list(column))
