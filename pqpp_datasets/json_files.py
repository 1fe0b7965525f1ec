"""Strict reading of published JSON and text: what is damaged is named, nothing is repaired."""

from pathlib import Path
from typing import Any

from pqpp_datasets.errors import MissingFileError
from pqpp_datasets.tables import not_as_published
from pqpp_files.errors import FileError
from pqpp_files.json_values import text_of, value_parser

_PARSE = value_parser(refuse_constants=True)


def read_text(path: Path) -> str:
    """Return a file's text, UTF-8 with or without a byte order mark.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If a byte is no UTF-8; names the line.
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file; give the published folder")
    try:
        return text_of(path.read_bytes(), str(path))
    except FileError as error:
        raise not_as_published(error) from None


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; a key that stands twice in one object is refused.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it is no JSON; names line and column.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.json"
        >>> _ = path.write_text('{"0": {"61512": [3, 0, 0]}}')
        >>> read_json(path)
        {'0': {'61512': [3, 0, 0]}}
    """
    return parse_json(read_text(path), str(path))


def parse_json(text: str, name: str, line: int = 1) -> Any:
    """Return what a JSON text holds.

    Args:
        text: The text.
        name: Of the file, for the error.
        line: The line of the file that the text begins on.

    Raises:
        DataFileError: If it is no JSON or a key stands twice in one object.
    """
    try:
        return _PARSE(text.encode(), name, line)
    except FileError as error:
        raise not_as_published(error) from None
