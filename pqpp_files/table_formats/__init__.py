"""The formats that a table of a user comes in, each read as blocks of rows, column by column.

A block is a number of rows, and their cells by column. A reader says in one line what is wrong with
a file, and on which line: the quick way only notices that something is, a slow one finds where.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from pqpp_files.errors import FileError
from pqpp_files.open_input import Input
from pqpp_files.table_formats.json_records import Json, JsonLines
from pqpp_files.table_formats.parquet import Parquet
from pqpp_files.table_formats.separated import Separated
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


FORMATS: dict[str, type[Format]] = {
    ".txt": Text,
    "": Text,
    ".csv": Separated,
    ".tsv": Separated,
    ".json": Json,
    ".jsonl": JsonLines,
    ".parquet": Parquet,
}
_SIGNS = {b"PAR1": ".parquet", b"[": ".json", b"{": ".jsonl"}


def source_of(
    source: str | Path | Input,
    wanted: Sequence[str] | None,
    plain: str | None,
    kinds: Sequence[str] | None = None,
) -> Format:
    """Return the format that an input's name says, once it is sure that it is there.

    Standard input without a format in its name is text, or what its first bytes say where text is
    not allowed.

    Raises:
        FileError: There is no such file, it is a folder, or its name says another format.
    """
    kinds = tuple(FORMATS if kinds is None else kinds) or tuple(FORMATS)
    source = source if isinstance(source, Input) else Input(source, check=False)
    suffix = source.suffix
    if source.is_standard and not suffix and suffix not in kinds:
        with source.explained(), source.open() as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
        suffix = next((kind for sign, kind in _SIGNS.items() if start.startswith(sign)), ".csv")
    if suffix not in kinds:
        raise FileError(
            f"{source.name}: files of type {suffix!r} are not read; use one of "
            f"{', '.join(kind or 'no suffix' for kind in kinds)}"
        )
    source.check()
    return FORMATS[suffix](source, wanted, plain)
