"""Plain text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pqpp_files.errors import FileError
from pqpp_files.table_formats.table_format import Block, Format, batches


class Text(Format):
    """A value a line; a blank line is an empty one, but for the blank lines at the end."""

    row_is = "line"

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        column = self.plain or "text"
        self._take([column])
        rows = 0
        with self._explained():
            for lines in batches(self._lines()):
                rows += len(lines)
                yield len(lines), {column: lines}
        if not rows:
            came = "the file is empty" if not self.source.is_standard else "no text came"
            raise FileError(f"{self.path}: {came}; write one on each line")

    def _lines(self) -> Iterator[str]:
        blank = 0
        with self._text("\n") as lines:
            for line in lines:
                if line.strip():
                    yield from itertools.repeat("", blank)
                    yield line.removesuffix("\n").rstrip("\r")
                    blank = -1
                blank += 1
