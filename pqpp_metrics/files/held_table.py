"""Tables that a caller holds in memory, as the rows of files are."""

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_files.read_table import INDEX, Table
from pqpp_metrics.errors import MetricFileError


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


def held_apart(files: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Table]]:
    """Return inputs as `FILE:COLUMN`, and the tables among them by what stands for FILE.

    Args:
        files: Input to file or table, or to a pair of a table and its column or columns.
    """
    texts: dict[str, str] = {}
    tables: dict[str, Table] = {}
    labels: dict[int, str] = {}
    for name, given in files.items():
        held, column = given if isinstance(given, tuple) else (given, None)
        if isinstance(held, str):
            texts[name] = held
            continue
        label = labels.setdefault(id(held), f"the table of {name}")
        if label not in tables:
            tables[label] = HeldTable(label, held)
        columns = column if isinstance(column, str | None) else ",".join(column)
        texts[name] = label if columns is None else f"{label}:{columns}"
    return texts, tables
