"""Strict reading of published files: read exactly, or refused with the place and the remedy.

No cell is ever guessed, dropped or turned into a missing value. What a JSON file must contain is in
`forms.schema.json`, by the name of its form.
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
from pqpp_files.foreign.json_values import decode_utf8, make_parser, read_json
from pqpp_files.read_table import read_table

REMEDY = "restore the file as published, or correct that line"
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_PARSE = make_parser(refuse_constants=True)


@dataclass(frozen=True)
class Column:
    """The type of a column's cells.

    Attributes:
        type: `string`, `int64` or `float64`.
        low: The least value allowed, for numbers.
        high: The greatest value allowed, for numbers.
        values: The only values allowed, for strings.
        form: A regular expression that all of a string fits.
        optional: Whether a cell may be empty; it is then null.
    """

    type: str
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    form: str = ""
    optional: bool = False

    def allowed(self) -> str:
        """Describe the allowed cells."""
        if self.values:
            return "one of " + ", ".join(self.values)
        if self.form:
            return f"a text of the form {self.form}"
        kinds = {"string": "a text", "int64": "a whole number", "float64": "a finite number"}
        kind = kinds[self.type]
        return kind if self.low is None else f"{kind} from {self.low:g} to {self.high:g}"

    def parse_cell(self, cell: str) -> str | int | float | None:
        """Parse a cell.

        Raises:
            ValueError: It is not allowed.
        """
        if self.optional and not cell:
            return None
        if self.type == "string":
            is_known = cell in self.values if self.values else bool(cell.strip())
            if not is_known or (self.form and not re.fullmatch(self.form, cell)):
                raise ValueError
            return cell
        if (self.type == "int64" and not _WHOLE.fullmatch(cell)) or "_" in cell:
            raise ValueError
        number = int(cell) if self.type == "int64" else float(cell)
        low, high = self.low, math.inf if self.high is None else self.high
        if not math.isfinite(number) or not (low is None or low <= number <= high):
            raise ValueError
        return number


def file_error(where: object, what: object) -> BenchmarkError:
    """Return the error of a published file that is not as it was published."""
    return BenchmarkError(f"{where}: {what}; {REMEDY}")


@contextlib.contextmanager
def as_published() -> Iterator[None]:
    """Replace a reader's remedy by that for published files."""
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
        raise BenchmarkError(f"{path}: no such file; give the published folder")


def read_csv(path: Path, columns: Mapping[str, Column]) -> pa.Table:
    r"""Read the named columns of a CSV file, all cells present and in range.

    Args:
        path: The file, with a header line; quoted cells may contain newlines. A file of plain text
            has a cell a line, and no header.
        columns: The type of each required column; other columns are ignored.

    Returns:
        A table with exactly these columns, in this order.

    Raises:
        BenchmarkError: If the file does not exist.
        BenchmarkError: If a column is missing or a cell is not allowed; names file and line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text("caption,score\nA red car.,1.5\n")
        >>> read_csv(path, {"score": Column("float64", -1, 2)}).to_pydict()
        {'score': [1.5]}
    """
    require_file(path)
    with as_published():
        table = read_table(path, list(columns), next(iter(columns)), remedy=REMEDY)
    if not len(table):
        raise file_error(f"{path}, line 2", "no row follows the header")
    read: dict[str, pa.Array] = {}
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
            read[name] = pa.array(values, getattr(pa, column.type)())
    if faults:
        row, name = min(faults)
        what = f"column {name} is {table[name][row][:80]!r}, expected {columns[name].allowed()}"
        raise file_error(table.locate(row), what)
    return pa.table(read)


def read_text(path: Path) -> str:
    """Return a file's text, UTF-8 with or without a byte order mark.

    Raises:
        BenchmarkError: If the file does not exist.
        BenchmarkError: If a byte is not UTF-8; names the line.
    """
    require_file(path)
    with as_published():
        return decode_utf8(path.read_bytes(), str(path))


def read_form(path: Path, form: str) -> Any:
    """Return the content of a JSON file; a duplicate key in one object is refused.

    Args:
        path: The file.
        form: Its type, by its name in `forms.schema.json`.

    Raises:
        BenchmarkError: It is missing, no JSON, or of another form; names the line or the entry.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.json"
        >>> _ = path.write_text('{"0": {"61512": [3, 0, 0]}}')
        >>> read_form(path, "conqa votes")
        {'0': {'61512': [3, 0, 0]}}
    """
    content = parse_published(read_text(path), str(path))
    refuse_other_form(content, form, str(path))
    return content


def refuse_other_form(value: Any, form: str, name: str, remedy: str = REMEDY) -> None:
    """Raise an error if the content of a file is invalid.

    Args:
        value: The content.
        form: Its type, by its name in `forms.schema.json`.
        name: The file's name.
        remedy: The fix.

    Raises:
        BenchmarkError: Names the file, the entry, and what is allowed.
    """
    error = next(_get_validator(form).iter_errors(value), None)
    if error is not None:
        where = "".join(f", {part!s:.40}" for part in error.absolute_path)
        wanted = error.schema["description"]
        got = f"{name}{where}: got {error.instance!r:.60}"
        raise BenchmarkError(f"{got}, expected {wanted}; {remedy}")


@functools.cache
def _get_validator(form: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(read_json(Path(__file__).with_name("forms.schema.json"))[form])


def parse_published(text: str, name: str, line: int = 1) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text.
        name: The file's name, for the error.
        line: The line of the file that the text begins on.

    Raises:
        BenchmarkError: If it is not JSON or a key is duplicate in one object.
    """
    with as_published():
        return _PARSE(text.encode(), name, line)
