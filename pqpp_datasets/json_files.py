"""Strict reading of published JSON and text: what is damaged is named, nothing is repaired."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_datasets.tables import REMEDY, not_as_published
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


def read_entries(path: Path, fields: Mapping[str, type]) -> dict[str, dict]:
    """Return what a JSON file holds that is an object of objects, each with the named fields.

    Args:
        path: The file.
        fields: What each entry must have, and its type: a text, which is never blank, or else.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it is none, or an entry lacks a field or has one of another type.
    """
    found = read_json(path)
    if not isinstance(found, dict) or not found:
        raise DataFileError(f"{path}: no object with an entry for each row; {REMEDY}")
    for key, entry in found.items():
        for name, kind in fields.items():
            value = entry.get(name) if isinstance(entry, dict) else None
            if not isinstance(value, kind) or (isinstance(value, str) and not value.strip()):
                raise DataFileError(
                    f"{path}, entry {key[:40]}: {name} is {value!r:.60}, a {kind.__name__} with "
                    f"content is allowed; {REMEDY}"
                )
    return found


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
