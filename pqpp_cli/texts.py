"""Reading texts, prompts or captions, from a file of any usual format or from standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqpp_files.read_table import TableParts


def read_texts(path: str, column: str = "prompt") -> list[str]:
    r"""Read the texts of a file, in order; `-` is standard input, a text a line, `-.csv` it as CSV.

    Raises:
        FileError: The file cannot be read, or has no such column of texts.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("id,prompt\n1,a red cat\n")
        >>> read_texts(str(path))
        ['a red cat']
    """
    from pqpp_files.read_table import read_table

    remedy = "name it with --column"
    return read_table(path, [column], plain=column, remedy=remedy).texts(column)


def standard_input() -> TableParts:
    """Return the lines of standard input as the column `prompt`, without blank ones at the end.

    Raises:
        FileError: There is none, or it is not UTF-8.
    """
    from pqpp_files.read_table import TableParts

    return TableParts("-", "prompt", "prompt")
