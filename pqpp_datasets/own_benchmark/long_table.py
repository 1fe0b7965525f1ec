"""The table that files of all layouts are read into: one row per judgment, one column per role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.table_formats import ROW, locate_row

FILE, COLUMN, PROMPT = "the file", "the column", "the number of the prompt"
"""Columns that are not roles; neither are `ROW`, `KEY` and `PLACE`."""
_MAX_LOCATIONS = 9
_MAX_FAULTS = 10


@dataclass
class LongTable:
    """The rows of one or several files.

    Attributes:
        rows: A `pandas.DataFrame` with one column per role. Texts are categories in order of
            appearance; empty cells are "". `FILE` and `ROW` (number) locate a row; `COLUMN` is the
            column of a vote if the file has several columns of votes; `PROMPT` is the prompt's
            index, after `number_prompts`.
        name: Paths of all files.
        column_names: Column names in the files, by role.
        notes: Notes on how the files were read, one per line.
        faults: Lines on errors in the rows, which `raise_faults` raises together.
        columns: All columns of the first file.
    """

    rows: Any
    name: str
    column_names: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    columns: Sequence[str] = ()

    @classmethod
    def from_columns(
        cls,
        path: Path,
        columns: Mapping[str, Any],
        row: Sequence[Any],
        column_names: Mapping[str, str] | None = None,
    ) -> Self:
        """Create a table from the columns of a file.

        Args:
            columns: The columns, by role.
            row: Number of each row in the file, for errors.
            column_names: Column names in the file, by role.
        """
        rows = pd.DataFrame(columns)
        rows[FILE] = fill_column(str(path), len(rows))
        rows[ROW] = row
        return cls(rows, str(path), column_names or {})

    def locate(self, row: int, after: int | None = None) -> str:
        """Return the file (unless the row `after` has the same) and the number of a row."""
        files = self.rows[FILE].iloc
        prefix = f"{files[row]}, " if after is not None and files[row] == files[after] else ""
        return locate_row(files[row], self.rows[ROW].iloc[row]).removeprefix(prefix)

    def get_column(self, role: str, row: int = 0) -> str:
        """Return the name of a role's column in the file from which a row was read."""
        if role in ("label", "rank") and COLUMN in self.rows:
            return str(self.rows[COLUMN].iloc[row])
        return self.column_names.get(role, role)

    def add_fault(self, role: str, rows: Sequence[int] | np.ndarray, problem: str) -> None:
        """Add an error line with the locations of the first rows; without rows, add nothing.

        Args:
            role: The role of the invalid cells.
            rows: Indices of the rows in all files.
            problem: The problem of the first row, and the fix.
        """
        columns = [FILE, ROW, *({COLUMN} & {*self.rows} if role in ("label", "rank") else ())]
        rows = np.asarray(rows)
        rows = rows[~self.rows[columns].iloc[rows].duplicated().to_numpy()]
        if not len(rows):
            return
        locations = [self.locate(row, rows[0]) for row in rows[1 : _MAX_LOCATIONS + 1]]
        suffix = f"; {len(rows) - 1} more, in {', '.join(locations)}" if locations else ""
        line = f"{self.locate(rows[0])}: {problem}{suffix}"
        self.faults += [line] if line not in self.faults else []

    def report_cells(self, role: str, rows: Sequence[int] | np.ndarray, allowed: str) -> None:
        """Add an error line about invalid cells, with the first invalid value and `allowed`."""
        if len(rows):
            cell = f"{self.rows[role].iloc[rows[0]]!r:.60}"
            self.add_fault(role, rows, f"{self.get_column(role, rows[0])!r} is {cell}, {allowed}")

    def raise_faults(self) -> None:
        """Raise the first ten error lines, if there are any.

        Raises:
            BenchmarkError: There are error lines.
        """
        if self.faults:
            raise BenchmarkError(*self.faults[:_MAX_FAULTS])

    def find_rows(self, role: str, is_invalid: Iterable[bool]) -> np.ndarray:
        """Return the indices of rows whose category is invalid.

        Args:
            is_invalid: Whether each category of the role is invalid.
        """
        mask = np.fromiter(is_invalid, bool)
        return np.flatnonzero(mask[self.rows[role].cat.codes]) if mask.any() else np.empty(0, int)

    def report_blanks(self, role: str, remedy: str = "fill in the cell") -> None:
        """Add an error line about empty cells of a role."""
        rows = self.find_rows(role, (not text.strip() for text in self.rows[role].cat.categories))
        if len(rows):
            self.add_fault(role, rows, f"{self.get_column(role, rows[0])!r} is empty; {remedy}")

    def parse_values(
        self, role: str, parse: Callable[[str], float | None], allowed: str
    ) -> np.ndarray:
        """Convert a role's strings to numbers, float64; add an error line about invalid ones.

        Args:
            parse: A function that converts a string to a number, or to None if it is invalid.
            allowed: The allowed values, for the error line.
        """
        values = [parse(text) for text in self.rows[role].cat.categories]
        self.report_cells(role, self.find_rows(role, (value is None for value in values)), allowed)
        return np.array(values, float)[self.rows[role].cat.codes]

    def join(self, other: LongTable, role: str, is_optional: bool = False) -> None:
        """Add columns of another table by id, replacing existing columns.

        Ids are compared as text: 7 is not 007. Notes count differing prompts and unused rows of the
        other table. Ids that are missing in the other table become error lines.

        Args:
            other: A table with one row per id.
            role: The role of the id.
            is_optional: Whether some ids can be missing in the other table; their cells are then
                empty, with a note.

        Raises:
            BenchmarkError: The other table has error lines, such as duplicate ids.
        """
        # Some tables repeat a prompt's row for each of its images.
        other.rows = other.rows.drop_duplicates([*other.rows.columns.drop(ROW)], ignore_index=True)
        other_ids, ids = other.rows[role], self.rows[role].cat
        if len(repeated := np.flatnonzero(other_ids.duplicated())):
            first = other.locate(int((other_ids == other_ids[repeated[0]]).to_numpy().argmax()))
            problem = f"the same as in {first.rpartition(', ')[2]}; keep one of the rows"
            other.report_cells(role, repeated, problem)
        other.raise_faults()
        self.report_blanks(role)
        # Ids are unique, so the index of a category is that of its row.
        row_of_id = other_ids.cat.categories.get_indexer(ids.categories)
        is_blank = [not text.strip() for text in ids.categories]  # already an error line
        rows = self.find_rows(role, (row_of_id < 0) & ~np.array(is_blank, bool))
        placeholder: Any = ""
        if is_optional and 0 < len(rows) < len(self.rows):
            note = f"{len(rows)} of {len(self.rows)} rows have a {role} that is not in {other.name}"
            self.notes.append(f"{self.name}: {note} and count only for the models' strengths")
        else:
            self.report_cells(role, rows, f"not found in {other.name}; add or correct the {role}")
            placeholder = self.rows[role].astype(object)  # unique, for one error line each
        matches = row_of_id[ids.codes]
        joined = other.rows.drop(columns=[role, FILE, ROW]).iloc[matches].set_axis(self.rows.index)
        for name, column in joined.items() if (matches < 0).any() else ():
            cells = column.astype(object).mask(matches < 0, placeholder)
            joined[name] = make_column(*pd.factorize(cells))
        if "prompt" in self.rows and "prompt" in joined:
            changed = (self.rows["prompt"].astype(object) != joined["prompt"].astype(object)).sum()
            if changed:
                note = f"{changed} prompts differ from those in {self.name} and replace them"
                self.notes.append(f"{other.name}: {note}")
        self.rows[joined.columns] = joined
        if unused := len(other_ids) - len(np.unique(matches[matches >= 0])):
            note = f"skipped {unused} of {len(other_ids)} rows that are not in {self.name}"
            self.notes.append(f"{other.name}: {note}")


def make_column(codes: Any, texts: Sequence[Any]) -> Any:
    """Return a categorical column from codes and the label of each code; equal labels are merged.

    Example:
        >>> column = make_column(np.array([0, 1, 2]), ["b", "a", "b"])
        >>> column.tolist(), column.categories.tolist()
        (['b', 'a', 'b'], ['b', 'a'])
    """
    indices, names = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(indices[codes], pd.Index(names, dtype=object))


def fill_column(text: str, rows: int) -> Any:
    """Return a categorical column with the same text in all rows."""
    return make_column(np.zeros(rows, np.int8), [text])
