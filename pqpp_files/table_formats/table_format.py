"""What the formats of tables have in common."""

from __future__ import annotations

import contextlib
import io
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pqpp_files.errors import FileError
from pqpp_files.open_input import Input

Block = tuple[int, dict[str, Sequence[Any]]]
ROWS = 256  # few enough to stay in the cache of the processor


class Format(ABC):
    """A file of one format.

    Args:
        source: The file.
        wanted: The columns to read; all if None.
        plain: The column of a record that is no object, which is refused if None, or of a line of
            text.

    Attributes:
        errors: What becomes of bytes that are no UTF-8, as `open` has it.
    """

    row_is = "row"
    errors = "strict"

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


def told(blocks: Iterator[Block], tell: Callable[[int], Any]) -> Iterator[Block]:
    """Give blocks, and tell how many rows each has, for a progress bar.

    Example:
        >>> seen = []
        >>> [rows for rows, _ in told(iter([(2, {}), (1, {})]), seen.append)], seen
        ([2, 1], [2, 1])
    """
    for rows, columns in blocks:
        tell(rows)
        yield rows, columns


def batches(items: Iterator) -> Iterator[list]:
    """Give some items at a time.

    Example:
        >>> [len(batch) for batch in batches(iter(range(ROWS + 1)))] == [ROWS, 1]
        True
    """
    while batch := list(itertools.islice(items, ROWS)):
        yield batch
