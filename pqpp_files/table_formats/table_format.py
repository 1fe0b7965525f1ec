"""What the formats of tables have in common."""

import contextlib
import io
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from pqpp_files.errors import FileError
from pqpp_files.open_input import Input

Block = tuple[int, dict[str, Sequence[Any]]]
ROWS = 256  # few enough to stay in the cache of the processor
PLACE = "the place in the list"
KEY = "the key"
ROW = "the row"
ADDED = (PLACE, KEY, ROW)
"""The columns that values of lists and objects bring, each of which becomes a row of its own."""


class Format(ABC):
    """A file of one format.

    Args:
        source: The file.
        wanted: The columns to read; all if None.
        plain: The column of a record that is no object, which is refused if None, or of a line of
            text.

    Attributes:
        is_text: Whether all cells are texts, as those of CSV are.
        is_whole: Whether all of it is read into memory at once.
        errors: What becomes of bytes that are no UTF-8, as `open` has it.
        has_header: Whether the first line of CSV names the columns, which are 1, 2, ... if not.
        with_index: Whether an index of pandas without a name is given with the columns.
        index: The columns that are the index of a Parquet file, or the numbers that it counts.
        keyed: Whether a JSON object of objects is records with a column `key`.
    """

    row_is = "row"
    is_text = is_whole = False
    errors = "strict"
    has_header = True
    with_index = keyed = False
    index: Sequence[str] | range = ()

    def __init__(self, source: Input, wanted: Sequence[str] | None, plain: str | None) -> None:
        self.source, self.wanted, self.plain = source, wanted, plain
        self.path = source.name
        self.names: list[str] = []

    @abstractmethod
    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """Give the rows; afterwards `names` are all columns of the file, read or not.

        Args:
            as_written: Numbers of JSON stay the text that they are.
        """

    def place_of(self, row: int) -> str:
        """Say where a row stands, counted from 0."""
        return f"{self.path}, {self.row_is} {row + 1}"

    def _take(self, names: Sequence[str]) -> list[str]:
        """Note the names of the columns, and return those to read."""
        taken = [name for name in names if self.wanted is None or name in self.wanted]
        twice = [name for name in taken if taken.count(name) > 1]
        if twice:
            raise FileError(
                f"{self.path}: the column {twice[0]} stands twice; keep one of them, or rename one"
            )
        self.names = list(names)
        return taken

    def _text(self, newline: str) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.source.open(), "utf-8-sig", self.errors, newline)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what is wrong with the bytes into one line."""
        try:
            with self.source.explained():
                yield
        except UnicodeDecodeError as error:
            raise FileError(
                f"{self.path}, line {self._line_that_is_no_text()}: not UTF-8 ({error.reason}); "
                f"{self.source.remedy}"
            ) from None

    def _line_that_is_no_text(self) -> int:
        with self.source.open() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return number
        return 1


def batches(items: Iterator) -> Iterator[list]:
    """Give some items at a time.

    Example:
        >>> [len(batch) for batch in batches(iter(range(ROWS + 1)))] == [ROWS, 1]
        True
    """
    while batch := list(itertools.islice(items, ROWS)):
        yield batch


def inner_columns(columns: dict, wanted: Sequence[str]) -> dict[str, Sequence]:
    """Return columns by names, those with dots from within the objects and lists of other columns.

    A column that is itself called so comes first. A number is a place in a list, from 0; any other
    name in a list gives what each of its objects has.

    Example:
        >>> cells = {"data": [{"text": "a cat", "votes": [{"by": 7}]}, None]}
        >>> inner_columns(cells, ["data.text", "data.votes.by", "data.votes.0.by"])
        {'data.text': ['a cat', None], 'data.votes.by': [[7], None], 'data.votes.0.by': [7, None]}
    """
    flat: dict[str, Sequence] = {}
    for name in wanted:
        first, *path = name.split(".")
        if name in columns:
            flat[name] = columns[name]
        elif path and first in columns:
            cells = [_inner(cell, path) for cell in columns[first]]
            if any(cell is not None for cell in cells):
                flat[name] = cells
    return flat


def _inner(cell: Any, path: Sequence[str]) -> Any:
    for place, name in enumerate(path):
        if isinstance(cell, dict):
            cell = cell.get(name)
        elif isinstance(cell, list) and name.isdecimal():
            cell = cell[int(name)] if int(name) < len(cell) else None
        elif isinstance(cell, list):
            return [_inner(inner, path[place:]) for inner in cell]
        else:
            return None
    return cell


def spread(blocks: Iterator[Block], name: str, wanted: Sequence[str]) -> Iterator[Block]:
    """Give blocks in which no cell of a column is a list or an object.

    Each value of a list becomes a row, with the other cells of its row beside it; an object gives a
    row for each key, or for each value of the list under it. A value in a list that is an object
    holds cells of columns. From the first such cell on the blocks have the columns `PLACE` (in the
    list, from 0), `KEY` (of the object) and `ROW` (of the file, from 0), None where there is none.

    Args:
        blocks: As a format gives them.
        name: The column.
        wanted: The columns that objects in a list may hold.

    Example:
        >>> block = (1, {"id": ["i"], "label": [{"flux": [1, 0]}]})
        >>> rows, columns = next(spread(iter([block]), "label", ()))
        >>> columns["id"], columns["label"], columns[KEY], columns[PLACE]
        (['i', 'i'], [1, 0], ['flux', 'flux'], [0, 1])
    """
    before, is_nested = 0, False
    for rows, columns in blocks:
        kinds = set(map(type, columns.get(name, ())))
        is_nested = is_nested or not kinds.isdisjoint((list, dict))
        yield _spread(rows, columns, before, name, wanted) if is_nested else (rows, columns)
        before += rows


def _spread(rows: int, columns: dict, before: int, name: str, wanted: Sequence[str]) -> Block:
    records: list[dict[str, Any]] = []
    for row in range(rows):
        beside = {column: cells[row] for column, cells in columns.items()}
        for key, place, value in _values_in(beside.get(name)):
            held = {name: None, **value} if isinstance(value, dict) else {name: value}
            records.append({**beside, **held, ROW: before + row, KEY: key, PLACE: place})
    inner = {key for record in records for key in record}.intersection(wanted)
    names = dict.fromkeys([*columns, *sorted(inner), name, *ADDED])
    return len(records), {column: [record.get(column) for record in records] for column in names}


def _values_in(cell: Any) -> Iterator[tuple[str | None, int | None, Any]]:
    """Give key, place and value of each value in a cell."""
    for key, inner in cell.items() if isinstance(cell, dict) else [(None, cell)]:
        if isinstance(inner, list):
            yield from ((key, place, value) for place, value in enumerate(inner))
        else:
            yield key, None, inner
