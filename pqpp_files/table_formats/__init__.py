"""The formats that a table of a user comes in, each read as blocks of rows, column by column.

A block is a number of rows, and their cells by column. A reader says in one line what is wrong with
a file, and on which line: the quick way only notices that something is, a slow one finds where.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pqpp_files.errors import FileError
from pqpp_files.open_input import Input
from pqpp_files.table_formats.json_records import Json, JsonLines
from pqpp_files.table_formats.nested import TOLD, spread
from pqpp_files.table_formats.parquet import UNNAMED, Parquet
from pqpp_files.table_formats.separated import Separated
from pqpp_files.table_formats.table_format import Block, Format, told
from pqpp_files.table_formats.text import Text

__all__ = [
    "TOLD",
    "UNNAMED",
    "Block",
    "Format",
    "Json",
    "Parquet",
    "Separated",
    "source_of",
    "spread",
    "told",
]

FORMATS: dict[str, type[Format]] = {
    ".txt": Text,
    "": Text,
    ".csv": Separated,
    ".tsv": Separated,
    ".json": Json,
    ".jsonl": JsonLines,
    ".parquet": Parquet,
}


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
    kinds = kinds or tuple(FORMATS)
    source = source if isinstance(source, Input) else Input(source, check=False)
    suffix = source.suffix
    if source.is_standard and not suffix and suffix not in kinds:
        suffix = _suffix_of(source)
    if suffix not in kinds:
        raise FileError(
            f"{source.name}: files of type {suffix!r} are not read; use one of "
            f"{', '.join(one or 'no suffix' for one in kinds)}"
        )
    source.check()
    return FORMATS[suffix](source, wanted, plain)


def _suffix_of(source: Input) -> str:
    with source.explained(), source.open() as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    known = {b"PAR1": ".parquet", b"[": ".json", b"{": ".jsonl"}
    return next((suffix for sign, suffix in known.items() if start.startswith(sign)), ".csv")
