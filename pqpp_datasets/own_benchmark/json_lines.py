"""Columns of a JSON Lines file, every cell as it is written in the file.

pyarrow's reader guesses types: a text like a date becomes a timestamp, and 2 beside "2" is an
error. So the lines go one by one through the json module; a million of them take seconds and little
memory, because a column is kept as codes and its distinct values.
"""

import json
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError

_BOM = b"\xef\xbb\xbf"


class _Column:
    """A column in the making: codes, and the position of each value met so far."""

    def __init__(self, rows: int):
        self.codes = array("i", [-1]) * rows
        self.places: dict[str, int] = {}

    def place(self, path: Path, number: int, name: str, value: object) -> int:
        """Take in a value that is new, or no text yet."""
        text = value if isinstance(value, str) else _text_of(path, number, name, value)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataFileError(
                f"{path}, line {number}: {name} holds half of a surrogate pair, which is no text; "
                "correct it"
            ) from None
        return self.places.setdefault(text, len(self.places))

    def as_arrow(self) -> pa.DictionaryArray:
        codes = np.frombuffer(self.codes, np.int32) if self.codes else np.empty(0, np.int32)
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=codes < 0), pa.array(list(self.places), pa.string())
        )


def read_json_lines(path: Path, wanted: Sequence[str]) -> tuple[pa.Table, list[str]]:
    r"""Read columns of a file with an object a line; blank lines are no rows.

    Args:
        path: The file.
        wanted: The columns to read. A key may be missing in any line, and gives null there.

    Returns:
        The wanted columns that stand in any line, as dictionaries of texts with numbers and true or
        false as they are written, and the names of all columns.

    Raises:
        DataFileError: If a line is no object, or a wanted cell is a list or an object.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.jsonl"
        >>> _ = path.write_text('{"label": 2.0}\n{"label": "2", "control": true}\n')
        >>> table, _ = read_json_lines(path, ["label", "control"])
        >>> table.to_pylist()
        [{'label': '2.0', 'control': None}, {'label': '2', 'control': 'true'}]
    """
    columns: dict[str, _Column] = {}
    names: dict[str, None] = {}
    # Numbers stay the text that they are: an id 1e3 or 7.0 must not change.
    parse = json.JSONDecoder(
        parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_without_repeats
    ).scan_once
    rows = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(_BOM if number == 1 else b"").strip()
            if not text:
                continue
            row = _object_of(path, number, text, parse)
            if not row.keys() <= names.keys():
                names.update(dict.fromkeys(row))
                for name in wanted:
                    if name in row and name not in columns:
                        columns[name] = _Column(rows)
            for name, column in columns.items():
                value = row.get(name)
                # Most values were met before; -1 stands for an empty cell.
                code = column.places.get(value) if value.__class__ is str else None
                if code is None:
                    code = -1 if value is None else column.place(path, number, name, value)
                column.codes.append(code)
            rows += 1
    found = {name: columns[name].as_arrow() for name in wanted if name in columns}
    return pa.table(found), list(names)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _object_of(path: Path, number: int, line: bytes, parse) -> dict:
    try:
        text = line.decode("utf-8")
        row, end = parse(text, 0)
        if end != len(text):
            raise ValueError("more than one value")
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{path}, line {number}: cannot be read (not UTF-8, {error.reason}); convert the file"
        ) from None
    except (ValueError, StopIteration, RecursionError) as error:
        reason = "no value" if isinstance(error, StopIteration) else str(error)[:150]
        raise DataFileError(
            f"{path}, line {number}: cannot be read as JSON ({reason}); correct the line"
        ) from None
    if not isinstance(row, dict):
        raise DataFileError(
            f"{path}, line {number}: no JSON object, an object with a key a column is needed"
        )
    return row


def _text_of(path: Path, number: int, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    kind = "a list" if isinstance(value, list) else "an object"
    raise DataFileError(
        f"{path}, line {number}: {name} is {kind}, a text or a number is allowed; give each value "
        "a line of its own"
    )
