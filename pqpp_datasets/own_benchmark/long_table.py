"""The one long table that files of any form are read into: a row a judgment, a column a role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.table_formats import ROW

FILE, COLUMN, NUMBER = "the file", "the column", "the number of the prompt"
"""Columns that are not roles, like `ROW`, and `KEY` and `PLACE` of lists."""
_ROWS_NAMED = 9
_FAULTS_TOLD = 10


@dataclass
class LongTable:
    """The rows of one or several files.

    Attributes:
        rows: A `pandas.DataFrame`, one column per role. Texts are categories in the order of their
            first appearance; an empty cell is the empty text. `FILE` and `ROW` (from 0) locate a
            row, `COLUMN` is its column if votes were side by side, and `NUMBER`, once prompts are
            numbered, which prompt it is about.
        name: A common name of all files.
        named: Role to its column name in the files.
        notes: Notes on how the files were read, one per line.
        faults: Faults in the rows, one line per kind; reported together.
    """

    rows: Any
    name: str
    named: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @classmethod
    def from_columns(
        cls,
        path: Path,
        columns: Mapping[str, Any],
        row: np.ndarray | None = None,
        named: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the columns of a file as a table; `row` is the index of each of its rows."""
        rows = pd.DataFrame(columns)
        rows[FILE] = repeat_text(str(path), len(rows))
        rows[ROW] = np.arange(len(rows)) if row is None else row
        return cls(rows, str(path), named or {})

    def locate(self, row: int) -> str:
        """Return a row's file and line, counted from 0 through all files."""
        return f"{self.rows[FILE].iloc[row]}, row {self.rows[ROW].iloc[row] + 1}"

    def header(self, role: str, row: int = 0) -> str:
        """Return a role's column name in the file of a row."""
        if role in ("label", "rank") and COLUMN in self.rows:
            return str(self.rows[COLUMN].iloc[row])
        return self.named.get(role, role)

    def add_fault(self, role: str, rows: Sequence[int] | np.ndarray, what: str) -> None:
        """Record a fault of rows, if any: the first row's location, then the others'.

        Args:
            role: The column.
            rows: Indices of the rows across all files.
            what: The problem of the first row, the allowed values and the fix.
        """
        columns = [FILE, ROW, *({COLUMN} & {*self.rows} if role in ("label", "rank") else ())]
        rows = np.asarray(rows)
        rows = rows[~self.rows[columns].iloc[rows].duplicated().to_numpy()]
        if not len(rows):
            return
        file = f"{self.rows[FILE].iloc[rows[0]]}, "
        others = [self.locate(row).removeprefix(file) for row in rows[1 : _ROWS_NAMED + 1]]
        more = f"; {len(rows) - 1} more, in {', '.join(others)}" if others else ""
        line = f"{self.locate(rows[0])}: {what}{more}"
        self.faults += [line] if line not in self.faults else []

    def refuse(self, role: str, rows: Sequence[int] | np.ndarray, allowed: str) -> None:
        """Record invalid cells as a fault: name and value, then allowed values and the fix."""
        if len(rows):
            cell = f"{self.rows[role].iloc[rows[0]]!r:.60}"
            self.add_fault(role, rows, f"{self.header(role, rows[0])} is {cell}, {allowed}")

    def raise_faults(self) -> None:
        """Raise an error for all recorded faults.

        Raises:
            BenchmarkError: There are faults; one line per kind.
        """
        if self.faults:
            raise BenchmarkError(*self.faults[:_FAULTS_TOLD])

    def find_rows(self, role: str, wrong: Iterable[bool]) -> np.ndarray:
        """Return the rows with an invalid category."""
        wrong = np.fromiter(wrong, bool)
        return np.flatnonzero(wrong[self.rows[role].cat.codes]) if wrong.any() else np.empty(0, int)

    def require_filled(self, role: str, remedy: str = "fill it") -> None:
        """Refuse empty cells."""
        rows = self.find_rows(role, (not text.strip() for text in self.rows[role].cat.categories))
        if len(rows):
            self.add_fault(role, rows, f"{self.header(role, rows[0])} is empty; {remedy}")

    def parse_values(
        self, role: str, value_of: Callable[[str], float | None], allowed: str
    ) -> np.ndarray:
        """Return the number of each row's text by `value_of`, or record faults and raise.

        Args:
            role: The column.
            value_of: Returns the number of a text, None if it is not allowed.
            allowed: The allowed values, for the error.
        """
        values = [value_of(text) for text in self.rows[role].cat.categories]
        self.refuse(role, self.find_rows(role, (value is None for value in values)), allowed)
        return np.array(values, float)[self.rows[role].cat.codes]

    def join(self, other: LongTable, role: str, is_optional: bool = False) -> None:
        """Fill in columns from another table by id, replacing existing values.

        Ids are compared as text: 7 is not 007. Notes count differing texts and unused rows of the
        other table.

        Args:
            other: A table with one row per id.
            role: The id's role.
            is_optional: Whether ids may be missing in the other table; their cells are empty, with
                a note.

        Raises:
            BenchmarkError: An id is duplicate or missing; the error names the row.
        """
        # Some write a prompt's row anew for each of its images.
        other.rows = other.rows.drop_duplicates([*other.rows.columns.drop(ROW)], ignore_index=True)
        known, ids = other.rows[role], self.rows[role].cat
        if len(repeated := np.flatnonzero(known.duplicated())):
            first = int((known == known[repeated[0]]).to_numpy().argmax())
            line = other.rows[ROW].iloc[first] + 1
            other.refuse(role, repeated, f"as in row {line} with other facts; give each one row")
        other.raise_faults()
        self.require_filled(role)
        # Each stands once, so that its place among the categories is its row.
        row_of = known.cat.categories.get_indexer(ids.categories)
        is_blank = [not text.strip() for text in ids.categories]  # told already
        rows = self.find_rows(role, (row_of < 0) & ~np.array(is_blank, bool))
        instead: Any = ""
        if is_optional and 0 < len(rows) < len(self.rows):
            lost = f"{len(rows)} of {len(self.rows)} rows have a {role} that is not in {other.name}"
            self.notes.append(f"{self.name}: {lost}; they count for the models' strengths alone")
        else:
            self.refuse(role, rows, f"which is not in {other.name}; add it there, or correct it")
            instead = self.rows[role].astype(object)  # which is like no other, and told once
        chosen = row_of[ids.codes]
        texts = other.rows.drop(columns=[role, FILE, ROW]).iloc[chosen].set_axis(self.rows.index)
        for name, column in texts.items() if (chosen < 0).any() else ():
            cells = column.astype(object).mask(chosen < 0, instead)
            texts[name] = map_texts(*pd.factorize(cells))
        if "prompt" in self.rows and "prompt" in texts:
            differ = (self.rows["prompt"].astype(object) != texts["prompt"].astype(object)).sum()
            if differ:
                note = f"{differ} rows have another text there, which holds"
                self.notes.append(f"{other.name}: {note}")
        self.rows[texts.columns] = texts
        if idle := len(known) - len(np.unique(chosen[chosen >= 0])):
            note = f"skipped {idle} of {len(known)} rows that are not in {self.name}"
            self.notes.append(f"{other.name}: {note}")


def map_texts(codes: Any, texts: Sequence[Any]) -> Any:
    """Return a categorical column from codes and their texts; equal texts share a code.

    Example:
        >>> column = map_texts(np.array([0, 1, 2]), ["b", "a", "b"])
        >>> column.tolist(), column.categories.tolist()
        (['b', 'a', 'b'], ['b', 'a'])
    """
    indices, names = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(indices[codes], pd.Index(names, dtype=object))


def repeat_text(text: str, rows: int) -> Any:
    """Return a column with the same text in all rows."""
    return map_texts(np.zeros(rows, np.int8), [text])
