"""Several files joined by id: the texts of prompts, and what is known of images."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    Columns,
    pairs_of,
    read_columns,
)
from pqpp_datasets.own_benchmark.options import BuildOptions

_PROMPT = ("prompt", "source", "category")
_IMAGE = ("prompt", "prompt_id", "model", "source", "category")


def read_prompt_texts(options: BuildOptions) -> Columns | None:
    """Read the file of the prompts' texts, if there is one: a row a prompt."""
    if options.prompts is None:
        return None
    needed = ("prompt_id", "prompt")
    table = read_columns(Path(options.prompts), needed, _PROMPT[1:], **options.reading("prompts"))
    return _one_a_row(table, "prompt_id")


def read_images(options: BuildOptions) -> Columns | None:
    """Read the file of the images, if there is one: a row an image."""
    if options.images is None:
        return None
    table = read_columns(Path(options.images), ("image",), _IMAGE, **options.reading("images"))
    return _one_a_row(table, "image")


def _one_a_row(table: Columns, role: str) -> Columns:
    codes, first = table[role].codes, pairs_of(table[role])[1]
    if len(first) < len(codes):
        again = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        column = table[role]
        earlier = int(np.argmax(codes == codes[again]))
        raise DataFileError(
            f"{table.places.of(again)}: {table.said(role)} is {column.names[codes[again]]!r:.60}, "
            f"as in row {earlier + 1}; give each one row"
        )
    return table


def join_known(columns: Columns, table: Columns | None, role: str) -> list[str]:
    """Put what a table knows into columns, by an id; what it has takes the place of what is there.

    Ids are compared as they are written: 7 is not 007.

    Args:
        columns: Of votes or runs, with the id; changed.
        table: With each id once.
        role: The id, `prompt_id` or `image`.

    Returns:
        What is to be said, a line each: how many texts differed, how many rows of the table nothing
        refers to.

    Raises:
        DataFileError: An id is not in the table; names the row.
    """
    if table is None:
        return []
    rows = {name: row for row, name in enumerate(table[role].texts)}
    place = table.places.name
    own = columns[role]
    known = np.array([rows.get(name, -1) for name in own.names])
    for position in np.flatnonzero(known < 0):
        if (own.codes == position).any():
            columns.refuse(
                role, int(position), f"which is not in {place}; add it there, or correct it"
            )
    chosen = known[own.codes]
    notes = _differing(columns, table, chosen, place)
    for name in table:
        if name != role:
            columns[name] = table[name].at(chosen)
    if idle := table.rows - len(np.unique(chosen)):
        notes.append(f"{place}: {idle} of {table.rows} rows are in no vote and are left out")
    return notes


def _differing(columns: Columns, table: Columns, chosen: np.ndarray, place: str) -> list[str]:
    """Say how many texts of prompts are others in the table."""
    if "prompt" not in columns or "prompt" not in table:
        return []
    names = {name: code for code, name in enumerate(table["prompt"].names)}
    theirs = np.array([names.get(name, -1) for name in columns["prompt"].names])
    differ = int((theirs[columns["prompt"].codes] != table["prompt"].codes[chosen]).sum())
    return [f"{place}: {differ} rows have another text there, which holds"] if differ else []


def concatenated(parts: Sequence[Columns]) -> Columns:
    """Return the rows of several files as one; a column that a file lacks is empty there."""
    if len(parts) == 1:
        return parts[0]
    found = Columns()
    found.named, found.wide, found.places = parts[0].named, parts[0].wide, parts[0].places
    found.notes = parts[0].notes
    for part in parts[1:]:
        found.places = found.places + part.places
        found.notes = [*found.notes, *part.notes]
    for role in dict.fromkeys(role for part in parts for role in part):
        names: dict[str, int] = {}
        codes = []
        for part in parts:
            own = part.get(role) or Coded(np.zeros(part.rows, np.int32), [""])
            places = [names.setdefault(name, len(names)) for name in own.names]
            codes.append(np.array(places, np.int32)[own.codes])
        found[role] = Coded(np.concatenate(codes), list(names))
    return found
