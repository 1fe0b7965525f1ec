"""The one long table that files of any form are read into: a row a judgment, a column a role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd

from pqpp_datasets.errors import DataFileError
from pqpp_files.table_formats.table_format import ROW

FILE, COLUMN, NUMBER = "the file", "the column", "the number of the prompt"
"""Columns beside the roles, as are `ROW`, and `KEY` and `PLACE` of lists."""


@dataclass
class LongTable:
    """The rows of one or several files.

    Attributes:
        rows: A `pandas.DataFrame`, a column a role. Texts are categories in the order of their
            first appearance; an empty cell is the empty text. `FILE` and `ROW` (from 0) say where a
            row stands, `COLUMN` in which column where votes stood side by side, and `NUMBER`, once
            prompts are numbered, which prompt it is about.
        name: What to call all files.
        named: Role to what the files call it.
        notes: What is to be said of how they were read, a line each.
    """

    rows: Any
    name: str
    named: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of_file(
        cls,
        path: Path,
        columns: Mapping[str, Any],
        row: np.ndarray | None = None,
        named: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the columns of a file as a table; `row` says which rows of it they are."""
        rows = pd.DataFrame(columns)
        rows[FILE] = one_text(str(path), len(rows))
        rows[ROW] = np.arange(len(rows)) if row is None else row
        return cls(rows, str(path), named or {})

    def place(self, row: int) -> str:
        """Say in words where a row stands, counted from 0 through all files."""
        return f"{self.rows[FILE].iloc[row]}, row {self.rows[ROW].iloc[row] + 1}"

    def said(self, role: str, row: int = 0) -> str:
        """Return what the file calls a role, in a row where there are several columns of it."""
        if role in ("label", "rank") and COLUMN in self.rows:
            return str(self.rows[COLUMN].iloc[row])
        return self.named.get(role, role)

    def refuse(self, role: str, row: int, allowed: str) -> NoReturn:
        """Raise for a cell: place, name and value, then what is allowed and what to do."""
        cell = f"{self.rows[role].iloc[row]!r:.60}"
        raise DataFileError(f"{self.place(row)}: {self.said(role, row)} is {cell}, {allowed}")

    def first_row(self, role: str, wrong: Iterable[bool]) -> int | None:
        """Return the first row whose text is a wrong one, given for each category."""
        rows = np.flatnonzero(np.fromiter(wrong, bool)[self.rows[role].cat.codes])
        return int(rows[0]) if len(rows) else None

    def require_filled(self, role: str, remedy: str = "fill it") -> None:
        """Refuse an empty cell."""
        texts = self.rows[role].cat.categories
        if all(map(str.strip, texts)):
            return
        row = self.first_row(role, (not text.strip() for text in texts))
        if row is not None:
            raise DataFileError(f"{self.place(row)}: {self.said(role, row)} is empty; {remedy}")

    def values(
        self, role: str, value_of: Callable[[str], float | None], allowed: str
    ) -> np.ndarray:
        """Return the number that each row's text stands for, as `value_of` gives it, or refuse it.

        Args:
            role: The column.
            value_of: The number of a text, None where it is not allowed.
            allowed: What is, for the error.
        """
        values = [value_of(text) for text in self.rows[role].cat.categories]
        row = self.first_row(role, (value is None for value in values))
        if row is not None:
            self.refuse(role, row, allowed)
        return np.array(values, float)[self.rows[role].cat.codes]

    def join(self, other: LongTable, role: str) -> None:
        """Put in what another table knows of an id; what it has takes the place of what is here.

        Ids are compared as they are written: 7 is not 007. How many texts differ, and how many rows
        of the other table nothing refers to, is noted.

        Args:
            other: With a row an id.
            role: The id.

        Raises:
            DataFileError: An id stands twice there, or is not there; names the row.
        """
        known, ids = other.rows[role], self.rows[role].cat
        if (again := known.duplicated().to_numpy()).any():
            first = int((known == known[again.argmax()]).to_numpy().argmax())
            other.refuse(role, int(again.argmax()), f"as in row {first + 1}; give each one row")
        # Each stands once, so that its place among the categories is its row.
        row_of = known.cat.categories.get_indexer(ids.categories)
        row = self.first_row(role, row_of < 0)
        if row is not None:
            self.refuse(role, row, f"which is not in {other.name}; add it there, or correct it")
        chosen = row_of[ids.codes]
        texts = other.rows.drop(columns=[role, FILE, ROW]).iloc[chosen].set_axis(self.rows.index)
        if "prompt" in self.rows and "prompt" in texts:
            differ = (self.rows["prompt"].astype(object) != texts["prompt"].astype(object)).sum()
            if differ:
                self.notes.append(
                    f"{other.name}: {differ} rows have another text there, which holds"
                )
        self.rows[texts.columns] = texts
        if idle := len(known) - len(np.unique(chosen)):
            self.notes.append(
                f"{other.name}: {idle} of {len(known)} rows are in no vote and are left out"
            )


def texts_of(codes: Any, texts: Sequence[Any]) -> Any:
    """Return a column of texts from what each code stands for; equal texts get one code.

    Example:
        >>> column = texts_of(np.array([0, 1, 2]), ["b", "a", "b"])
        >>> column.tolist(), column.categories.tolist()
        (['b', 'a', 'b'], ['b', 'a'])
    """
    places, names = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(places[codes], pd.Index(names, dtype=object))


def one_text(text: str, rows: int) -> Any:
    """Return a column that has one text in all rows."""
    return texts_of(np.zeros(rows, np.int8), [text])
