"""Plain text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pqpp_files.errors import FileError
from pqpp_files.table_formats.table_format import Block, Format, batches


class Text(Format):
    """A value a line; blank lines are left out."""

    row_is = "line"

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        self._take([self.plain])
        rows = 0
        with self._explained():
            for lines in batches(self._numbered()):
                rows += len(lines)
                yield len(lines), {self.plain: [line for _, line in lines]}
        if not rows:
            came = "the file is empty" if not self.source.is_standard else "no text came"
            raise FileError(f"{self.path}: {came}; write one on each line")

    def _numbered(self) -> Iterator[tuple[int, str]]:
        with self._text("\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.removesuffix("\n").rstrip("\r")

    def place_of(self, row: int) -> str:
        """See `Format.place_of`."""
        number, _ = next(itertools.islice(self._numbered(), row, None))
        return f"{self.path}, line {number}"
