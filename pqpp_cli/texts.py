"""Reading texts, prompts or captions, from a file of any usual format or from standard input."""

import sys

from pqpp_cli.errors import CommandError


def read_texts(path: str, column: str = "prompt") -> list[str]:
    r"""Read the texts of a file, in order; `-` is standard input, a text a line.

    Raises:
        FileError: The file cannot be read, or has no such column of texts.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("id,prompt\n1,a red cat\n")
        >>> read_texts(str(path))
        ['a red cat']
    """
    if path == "-":
        return standard_input()
    from pqpp_files.read_table import read_table

    remedy = "name it with --column"
    return read_table(path, [column], plain=column, remedy=remedy).texts(column)


def standard_input() -> list[str]:
    """Return the lines of standard input that are not blank.

    Raises:
        CommandError: There is none, or it is not UTF-8.
    """
    # The bytes themselves: the terminal's encoding says nothing of a file that is piped in.
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"standard input: not UTF-8 at byte {error.start}; convert it") from None
    # Only a newline ends a text; form feeds and the like may stand in one.
    texts = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    if not texts:
        raise CommandError(
            "standard input: no text came; pipe texts in, one on each line, or name a file"
        )
    return texts
