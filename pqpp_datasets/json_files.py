"""Strict reading of JSON files: what is damaged is named with its line, nothing is repaired."""

import json
from pathlib import Path

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_datasets.tables import REMEDY


def read_text(path: Path) -> str:
    """Return a file's text, UTF-8 with or without a byte order mark.

    Args:
        path: The file.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If a byte is no UTF-8; names the line.
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file; give the published folder")
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError(f"{path}, line {line}: not UTF-8 ({error.reason}); {REMEDY}") from None


def read_json(path: Path):
    """Return what a JSON file holds; a key that stands twice in one object is refused.

    Args:
        path: The file.

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


def parse_json(text: str, name: str, line: int = 1):
    """Return what a JSON text holds.

    Args:
        text: The text.
        name: Of the file, for the error.
        line: The line of the file that the text begins on.

    Raises:
        DataFileError: If it is no JSON or a key stands twice in one object.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"{name}, line {line + error.lineno - 1}, column {error.colno}"
        raise DataFileError(f"{where}: no valid JSON ({error.msg}); {REMEDY}") from None
    except (_RefusedError, RecursionError) as error:
        raise DataFileError(f"{name}, line {line} on: {error}; {REMEDY}") from None


class _RefusedError(Exception):
    """Text that Python's parser would take although it has no one meaning."""


def _without_repeats(pairs: list[tuple[str, object]]) -> dict:
    found: dict = {}
    for key, value in pairs:
        if key in found:
            raise _RefusedError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str):
    raise _RefusedError(f"{name} is no JSON number")
