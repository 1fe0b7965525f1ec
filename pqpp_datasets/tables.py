"""Strict reading of published files.

Cells are never guessed, dropped or turned into missing values; errors name the file, the line and
the fix. JSON files are validated with the schemas in `forms.schema.json`.
"""

import contextlib
import functools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import decode_utf8, parse_user_json, read_json
from pqpp_files.read_table import read_table

REMEDY = "restore the published file or correct its content"
_INTEGER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Column:
    """The type of a column's cells.

    Attributes:
        type: `string`, `int64` or `float64`.
        low: Lowest number allowed; None without limits.
        high: Highest number allowed.
        values: Strings allowed; empty for any.
        form: Regular expression that strings must match completely; "" for any.
        optional: Whether a cell can be empty; it is then null.
    """

    type: str
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    form: str = ""
    optional: bool = False

    def describe(self) -> str:
        """Return a description of the allowed cells."""
        if self.values:
            return "one of " + ", ".join(self.values)
        if self.form:
            return f"a text of the form {self.form}"
        nouns = {"string": "a text", "int64": "a whole number", "float64": "a finite number"}
        noun = nouns[self.type]
        return noun if self.low is None else f"{noun} from {self.low:g} to {self.high:g}"

    def parse_cell(self, cell: str) -> str | int | float | None:
        """Convert a cell to its type; None if it is empty and optional.

        Raises:
            ValueError: The cell is not allowed.
        """
        if self.optional and not cell:
            return None
        if self.type == "string":
            is_known = cell in self.values if self.values else bool(cell.strip())
            if not is_known or (self.form and not re.fullmatch(self.form, cell)):
                raise ValueError
            return cell
        if (self.type == "int64" and not _INTEGER.fullmatch(cell)) or "_" in cell:
            raise ValueError
        number = int(cell) if self.type == "int64" else float(cell)
        low, high = self.low, math.inf if self.high is None else self.high
        if not math.isfinite(number) or not (low is None or low <= number <= high):
            raise ValueError
        return number


def file_error(location: object, problem: object) -> BenchmarkError:
    """Return an error about a published file, with the remedy for such files."""
    return BenchmarkError(f"{location}: {problem}; {REMEDY}")


@contextlib.contextmanager
def convert_file_errors() -> Iterator[None]:
    """Convert a `FileError` to a `BenchmarkError` with the remedy for published files."""
    try:
        yield
    except FileError as error:
        raise BenchmarkError(f"{str(error).rpartition('; ')[0] or error}; {REMEDY}") from None


def require_file(path: Path) -> None:
    """Refuse a missing published file.

    Raises:
        BenchmarkError: The file does not exist.
    """
    if not path.is_file():
        raise BenchmarkError(f"{path} not found; use the complete published folder")


def read_csv(path: Path, columns: Mapping[str, Column]) -> pa.Table:
    r"""Read columns of a CSV file and check their cells.

    Args:
        path: The file, with a header line; quoted cells can contain line breaks. A .txt file has
            one cell per line and no header.
        columns: Types of the required columns, by name; other columns are ignored.

    Returns:
        A table with these columns, in this order.

    Raises:
        BenchmarkError: The file or a column is missing, or a cell is not allowed.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text("caption,score\nA red car.,1.5\n")
        >>> read_csv(path, {"score": Column("float64", -1, 2)}).to_pydict()
        {'score': [1.5]}
    """
    require_file(path)
    with convert_file_errors():
        table = read_table(path, list(columns), next(iter(columns)), remedy=REMEDY)
    if not len(table):
        raise file_error(path, "the file contains no rows")
    arrays: dict[str, pa.Array] = {}
    faults = []
    for name, column in columns.items():
        parsed: dict[str, Any] = {}
        for row, cell in enumerate(table[name]):
            try:
                parsed[cell] = parsed[cell] if cell in parsed else column.parse_cell(cell)
            except ValueError:
                faults.append((row, name))
                break
        else:
            values = map(parsed.__getitem__, table[name])
            arrays[name] = pa.array(values, getattr(pa, column.type)())
    if faults:
        row, name = min(faults)
        cell, expected = table[name][row][:80], columns[name].describe()
        raise file_error(table.locate(row), f"column {name!r} is {cell!r}, expected {expected}")
    return pa.table(arrays)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark.

    Raises:
        BenchmarkError: The file is missing or not UTF-8.
    """
    require_file(path)
    with convert_file_errors():
        return decode_utf8(path.read_bytes(), str(path))


def read_validated_json(path: Path, form: str) -> Any:
    """Read a JSON file and validate it.

    Args:
        form: Name of a schema in `forms.schema.json`.

    Raises:
        BenchmarkError: The file is missing, is not JSON, has duplicate keys in an object, or does
            not match the schema.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.json"
        >>> _ = path.write_text('{"0": {"61512": [3, 0, 0]}}')
        >>> read_validated_json(path, "conqa votes")
        {'0': {'61512': [3, 0, 0]}}
    """
    content = parse_published_json(read_text(path), str(path))
    validate_json(content, form, str(path))
    return content


def validate_json(value: Any, form: str, name: str, remedy: str = REMEDY) -> None:
    """Validate the content of a file.

    Args:
        form: Name of a schema in `forms.schema.json`.
        name: The file's name, for the error.
        remedy: The fix, for the error.

    Raises:
        BenchmarkError: The content does not match the schema.
    """
    validator = load_validator(Path(__file__).with_name("forms.schema.json"), form)
    if (error := next(validator.iter_errors(value), None)) is not None:
        location = "".join(f", {part!s:.40}" for part in error.absolute_path)
        expected = error.schema["description"]
        got = f"got {error.instance!r:.60}"
        raise BenchmarkError(f"{name}{location}: expected {expected}, {got}; {remedy}")


@functools.cache
def load_validator(path: Path, form: str | None = None) -> Any:
    """Return the validator of a JSON Schema file, or of one of its schemas by name."""
    from jsonschema import Draft202012Validator

    schema = read_json(path)
    return Draft202012Validator(schema[form] if form else schema)


def parse_published_json(text: str, name: str, line: int = 1) -> Any:
    """Parse JSON from a published file.

    Args:
        name: The file's name, for the error.
        line: The line of the file on which the text begins.

    Raises:
        BenchmarkError: The text is not JSON, or has duplicate keys in an object.
    """
    with convert_file_errors():
        return parse_user_json(text.encode(), name, line, allow_nan=False)
