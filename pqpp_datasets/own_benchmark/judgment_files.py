"""The columns of judgments and runs, as codes and their names: a million rows stay small."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_files.errors import FileError
from pqpp_files.open_input import names_input
from pqpp_files.read_table import Codes, read_codes
from pqpp_files.table_formats.nested import KEY, PLACE, ROW

_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".json")


class Places:
    """Where the rows of one or several files stand, for errors.

    Args:
        parts: The files, each with how many rows it gave, or the row (from 0) of each of these.

    Attributes:
        name: What to call all of them.

    Example:
        >>> places = Places([("a.csv", 2), ("b.csv", np.array([0, 0]))])
        >>> places.of(1), places.of(3), places.name
        ('a.csv, row 2', 'b.csv, row 1', 'a.csv and b.csv')
    """

    def __init__(self, parts: Sequence[tuple[str | Path, int | np.ndarray]]) -> None:
        self._parts = list(parts)
        self._chosen: np.ndarray | None = None
        self.name = " and ".join(str(path) for path, _ in parts)

    def __add__(self, other: "Places") -> "Places":
        return Places([*self._parts, *other._parts])

    def at(self, rows: np.ndarray) -> "Places":
        """Return the places of some rows."""
        found = Places(self._parts)
        found._chosen = rows
        return found

    def of(self, row: int) -> str:
        """Say in words where a row stands, counted from 0 through all files."""
        row = row if self._chosen is None else int(self._chosen[row])
        for path, rows in self._parts:
            size = rows if isinstance(rows, int) else len(rows)
            if row < size:
                return f"{path}, row {(row if isinstance(rows, int) else int(rows[row])) + 1}"
            row -= size
        raise IndexError(row)


@dataclass(frozen=True)
class Coded:
    """A column of texts.

    Attributes:
        codes: int32 (rows,), a position in `names` each.
        names: The distinct values in order of first appearance.
    """

    codes: np.ndarray
    names: list[str]

    def at(self, rows: np.ndarray) -> "Coded":
        """Return some rows, given by number or as a mask; the names stay."""
        return Coded(self.codes[rows], self.names)

    @property
    def texts(self) -> list[str]:
        """The text of each row."""
        return [self.names[code] for code in self.codes.tolist()]


class Columns(dict[str, Coded]):
    """The columns of a file by what they are to us, all of one length.

    Attributes:
        places: Where the rows stand.
        named: What a column is to us to its name in the file, where that is another.
        wide: The columns that the labels of a file with a column an annotator come from, in turn.
        notes: What is to be said of how they were read, a line each.
    """

    places: Places
    named: Mapping[str, str] = MappingProxyType({})
    wide: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.values())).codes) if self else 0

    def said(self, role: str, row: int = 0) -> str:
        """Return what the file calls a column, or that of a row where there are several."""
        if role == "label" and self.wide:
            return self.wide[row % len(self.wide)]
        return self.named.get(role, role)

    def refuse(self, role: str, position: int, allowed: str) -> NoReturn:
        """Raise for the first row that has a value of a column: place, name and value.

        Args:
            role: The column.
            position: Of the value, in the column's `names`.
            allowed: What else is allowed, and what to do.
        """
        column = self[role]
        row = int(np.argmax(column.codes == position))
        value = f"{column.names[position]!r:.60}"
        raise DataFileError(f"{self.places.of(row)}: {self.said(role, row)} is {value}, {allowed}")


def is_tabular(path: Path) -> bool:
    """Tell by the name whether a file is a table; runs and qrels of TREC are called anything."""
    name = str(path).lower().removesuffix(".gz")
    return name == "-" or Path(name).suffix in _SUFFIXES


def read_columns(
    path: Path,
    needed: Sequence[str],
    optional: Sequence[str] = (),
    named: Mapping[str, str] | None = None,
    blank: Sequence[str] = (),
    nested: str | None = None,
    progress: bool = False,
    encoding: str = "utf-8",
) -> Columns:
    r"""Read columns of a file, each as text.

    Args:
        path: As for `pqpp_files.read_table`, with named columns.
        needed: Columns that must be there, all cells filled.
        optional: Columns that may be missing; an empty cell is the empty text.
        named: What the file calls a column, where it is another name.
        blank: Needed columns whose cells may be empty.
        nested: The column whose lists and objects become rows, as `read_codes` has it; what they
            add are the columns `PLACE` and `KEY`.
        progress: Whether a bar on standard error counts the rows.
        encoding: Of the file.

    Returns:
        Every needed column and each optional one that is there.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it can't be read, a column is missing or a needed cell is empty.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
        >>> _ = path.write_text("prompt,label\nA cat.,2\nA dog.,2\n")
        >>> column = read_columns(path, ["text", "label"], named={"text": "prompt"})["label"]
        >>> column.codes.tolist(), column.names
        ([0, 0], ['2'])
    """
    from tqdm import tqdm

    path, named = Path(path), named or {}
    if not names_input(path):
        raise MissingFileError(f"{path}: there is no such file; name one of judgments or runs")
    wanted = {role: named.get(role, role) for role in (*needed, *optional)}
    try:
        columns = tuple(wanted.values())
        with tqdm(desc=f"reading {path.name}", unit=" rows", disable=not progress) as bar:
            codes, names = read_codes(
                path, columns, _SUFFIXES, nested and wanted[nested], bar.update, encoding
            )
    except FileError as error:
        raise DataFileError(str(error)) from None
    refuse_missing(path, [wanted[r] for r in needed if wanted[r] not in codes], names)
    found = Columns()
    found.named = wanted
    rows = _rows_of(codes.pop(ROW, None))
    for role, name in {**wanted, PLACE: PLACE, KEY: KEY}.items():
        if name in codes:
            found[role] = _coded(codes[name])
    found.places = Places([(path, found.rows if rows is None else rows)])
    if not found.rows:
        raise DataFileError(f"{path}: no row came; one judgment or result a row is needed")
    for role in needed:
        if role not in blank:
            refuse_empty(found, role)
    return found


def _rows_of(column: Codes | None) -> np.ndarray | None:
    """Return the row of the file of each row, where lists became rows."""
    if column is None:
        return None
    rows = np.array([-1 if value is None else value for value in column.values])
    rows = rows[np.frombuffer(column.codes, np.int32)]
    return np.where(rows < 0, np.arange(len(rows)), rows)  # those before the first list have none


def refuse_missing(path: Path | str, missing: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a file that lacks columns."""
    if missing:
        remedy = "name the columns so, or say how they are called by --column ROLE=COLUMN"
        if "label" in missing:
            remedy += ", like --column label=COLUMN; --annotators COL,COL for a column an annotator"
            remedy += ", --models COL,COL for a column a model"
            if {"model_a", "model_b"} <= set(names):
                remedy = "preferences between two models are named by --preferences FILE"
        raise DataFileError(
            f"{path}: no column {', '.join(missing)} among {', '.join(names)[:200] or 'none'}; "
            f"{remedy}"
        )


def refuse_empty(columns: Columns, role: str, remedy: str = "fill it") -> None:
    """Refuse a column with an empty cell; names the row."""
    column = columns[role]
    for position, text in enumerate(column.names):
        if not text.strip() and (rows := column.codes == position).any():
            row = int(np.argmax(rows))
            said = columns.said(role, row)
            raise DataFileError(f"{columns.places.of(row)}: {said} is empty; {remedy}")


def _coded(column: Codes) -> Coded:
    """Return a column with its values as text, those of equal text under one code."""
    codes, texts = np.frombuffer(column.codes, np.int32), column.values
    if not all(value.__class__ is str for value in texts):
        names: dict[str, int] = {}
        places = [names.setdefault(_text_of(value), len(names)) for value in texts]
        codes, texts = np.array(places, np.int32)[codes], list(names)
    return Coded(codes, texts)


def _text_of(value: Any) -> str:
    if value is None or value != value:  # NaN is how pandas writes an empty cell
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def values_of(columns: Columns, role: str, allowed: Mapping[str, float]) -> np.ndarray:
    """Return a column's values as numbers, by a table of what may be written.

    Args:
        columns: Of a file.
        role: The column.
        allowed: Text in lower case to value.

    Raises:
        DataFileError: If a text is none of them; names the row.
    """
    values = np.empty(len(columns[role].names))
    for position, text in enumerate(columns[role].names):
        key = text.strip().lower().removesuffix(".0")
        if key not in allowed:
            known = ", ".join(filter(None, allowed))
            columns.refuse(role, position, f"one of {known} is allowed")
        values[position] = allowed[key]
    return values[columns[role].codes]


def numbers_of(columns: Columns, role: str, may_be_empty: bool = False) -> np.ndarray:
    """Return a column of numbers, all finite; NaN where a cell is empty, if it may be.

    Raises:
        DataFileError: If a text is no finite number; names the row.
    """
    values = np.empty(len(columns[role].names))
    for position, text in enumerate(columns[role].names):
        try:
            values[position] = float(text)
        except ValueError:
            values[position] = np.nan
        if not np.isfinite(values[position]) and (text.strip() or not may_be_empty):
            columns.refuse(role, position, "a finite number is allowed")
    return values[columns[role].codes]


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


def refuse_repeats(
    places: Places, what: str, *columns: Coded, remedy: str = "keep one of them"
) -> None:
    """Refuse a combination of columns that stands in two rows.

    Raises:
        DataFileError: Names both rows.
    """
    codes, first = pairs_of(*columns)
    if len(first) == len(codes):
        return
    again = int(np.argmax(first[codes] != np.arange(len(codes))))
    values = ", ".join(repr(c.names[c.codes[again]])[:60] for c in columns)
    earlier = places.of(int(first[codes[again]]))
    name = places.of(again).rpartition(", ")[0]
    raise DataFileError(
        f"{places.of(again)}: {what} ({values}) also stands in {earlier.removeprefix(name + ', ')};"
        f" {remedy}"
    )
