"""The columns of judgments and runs, as codes and their names: a million rows stay small."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_files.errors import FileError
from pqpp_files.open_input import names_input
from pqpp_files.read_table import Codes, read_codes

_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".json")


@dataclass(frozen=True)
class Coded:
    """A column of texts.

    Attributes:
        codes: int32 (rows,), a position in `names` each.
        names: The distinct values in order of first appearance.
    """

    codes: np.ndarray
    names: list[str]

    def where(self, keep: np.ndarray) -> "Coded":
        """Return the rows where `keep` is true; the names stay."""
        return Coded(self.codes[keep], self.names)


def read_columns(path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> dict:
    r"""Read columns of a file, each as text.

    Args:
        path: As for `pqpp_files.read_table`, with named columns.
        needed: Columns that must be there, all cells filled.
        optional: Columns that may be missing; an empty cell is the empty text.

    Returns:
        Name to `Coded`, for every needed column and each optional one that is there.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it can't be read, a column is missing or a needed cell is empty.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
        >>> _ = path.write_text("prompt,label\nA cat.,2\nA dog.,2\n")
        >>> column = read_columns(path, ["prompt", "label"])["label"]
        >>> column.codes.tolist(), column.names
        ([0, 0], ['2'])
    """
    path = Path(path)
    if not names_input(path):
        raise MissingFileError(f"{path}: there is no such file; name one of judgments or runs")
    try:
        found, names = read_codes(path, (*needed, *optional), _SUFFIXES)
    except FileError as error:
        raise DataFileError(str(error)) from None
    missing = [name for name in needed if name not in found]
    if missing:
        raise DataFileError(
            f"{path}: no column {', '.join(missing)} among {', '.join(names)[:200] or 'none'}; "
            "name the columns so"
        )
    if not found[needed[0]].codes:
        raise DataFileError(f"{path}: no row came; one judgment or result a row is needed")
    return {name: _coded(path, codes, name, name in needed) for name, codes in found.items()}


def _coded(path: Path, column: Codes, name: str, is_needed: bool) -> Coded:
    """Return a column with its values as text, those of equal text under one code."""
    codes, texts = np.frombuffer(column.codes, np.int32), column.values
    if not all(value.__class__ is str for value in texts):
        names: dict[str, int] = {}
        places = [names.setdefault(_text_of(value), len(names)) for value in texts]
        codes, texts = np.array(places, np.int32)[codes], list(names)
    coded = Coded(codes, texts)
    if is_needed:
        for position, text in enumerate(texts):
            if not text.strip():
                row = int(np.argmax(codes == position)) + 1
                raise DataFileError(f"{path}, row {row}: {name} is empty; fill it")
    return coded


def _text_of(value: object) -> str:
    if value is None or value != value:  # NaN is how pandas writes an empty cell
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def values_of(path: Path, column: Coded, name: str, allowed: Mapping[str, float]) -> np.ndarray:
    """Return a column's values as numbers, by a table of what may be written.

    Args:
        path: Of the file, for the error.
        column: The column.
        name: Its name.
        allowed: Text in lower case to value.

    Raises:
        DataFileError: If a text is none of them; names the row.
    """
    values = np.empty(len(column.names))
    for position, text in enumerate(column.names):
        key = text.strip().lower().removesuffix(".0")
        if key not in allowed:
            _refuse(path, column, name, position, "one of " + ", ".join(filter(None, allowed)))
        values[position] = allowed[key]
    return values[column.codes]


def numbers_of(path: Path, column: Coded, name: str) -> np.ndarray:
    """Return a column of numbers, all finite.

    Raises:
        DataFileError: If a text is no finite number; names the row.
    """
    values = np.empty(len(column.names))
    for position, text in enumerate(column.names):
        try:
            values[position] = float(text)
        except ValueError:
            values[position] = np.nan
        if not np.isfinite(values[position]):
            _refuse(path, column, name, position, "a finite number")
    return values[column.codes]


def _refuse(path: Path, column: Coded, name: str, position: int, allowed: str) -> None:
    row = int(np.argmax(column.codes == position)) + 1
    raise DataFileError(
        f"{path}, row {row}: {name} is {column.names[position]!r:.60}, {allowed} is allowed"
    )


def pairs_of(*columns: Coded) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct combinations of some columns.

    Returns:
        int64 (rows,), the combination of each row, and the first row of each combination; the
        combinations are numbered in the order of their codes.
    """
    key, distinct = columns[0].codes.astype(np.int64), len(columns[0].names)
    for column in columns[1:]:
        if distinct * len(column.names) >= 2**63:
            values, key = np.unique(key, return_inverse=True)
            distinct = len(values)
        key = key * len(column.names) + column.codes
        distinct *= len(column.names)
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    return codes.astype(np.int64), first


def refuse_repeats(path: Path, what: str, *columns: Coded) -> None:
    """Refuse a combination of columns that stands in two rows.

    Raises:
        DataFileError: Names both rows.
    """
    codes, first = pairs_of(*columns)
    if len(first) == len(codes):
        return
    again = int(np.argmax(first[codes] != np.arange(len(codes))))
    values = ", ".join(repr(c.names[c.codes[again]])[:60] for c in columns)
    raise DataFileError(
        f"{path}, row {again + 1}: {what} ({values}) also stands in row {first[codes[again]] + 1}; "
        "keep one of them"
    )
