"""Lists and objects in a column, each value of which becomes a row of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pqpp_files.table_formats.table_format import Block

PLACE = "the place in the list"
KEY = "the key"
ROW = "the row"
TOLD = (PLACE, KEY, ROW)


def spread(blocks: Iterator[Block], name: str, wanted: Sequence[str]) -> Iterator[Block]:
    """Give blocks in which no cell of a column is a list or an object.

    Each value of a list becomes a row, with the other cells of its row beside it; an object gives a
    row for each key, or for each value of the list under it. A value in a list that is an object
    holds cells of columns. From the first such cell on the blocks have the columns `PLACE` (in the
    list, from 0), `KEY` (of the object) and `ROW` (of the file, from 0), None where there is none.

    Args:
        blocks: As a format gives them.
        name: The column.
        wanted: The columns that objects in a list may hold.

    Example:
        >>> block = (1, {"id": ["i"], "label": [{"flux": [1, 0]}]})
        >>> rows, columns = next(spread(iter([block]), "label", ()))
        >>> columns["id"], columns["label"], columns[KEY], columns[PLACE]
        (['i', 'i'], [1, 0], ['flux', 'flux'], [0, 1])
    """
    before, met = 0, False
    for rows, columns in blocks:
        cells = columns.get(name, ())
        met = met or not {list, dict}.isdisjoint(map(type, cells))
        if not met:
            yield rows, columns
        else:
            yield _spread(rows, columns, before, name, wanted)
        before += rows


def _spread(rows: int, columns: dict, before: int, name: str, wanted: Sequence[str]) -> Block:
    entries = [
        (row, key, place, value)
        for row, cell in enumerate(columns.get(name) or [None] * rows)
        for key, place, value in _entries(cell)
    ]
    inner = {n for *_, value in entries if isinstance(value, dict) for n in value if n in wanted}
    found: dict[str, Sequence[Any]] = {}
    for column in dict.fromkeys([*columns, *sorted(inner), name]):
        own = columns.get(column) or [None] * rows
        found[column] = [
            value.get(column, None if column == name else own[row])
            if isinstance(value, dict)
            else value
            if column == name
            else own[row]
            for row, _, _, value in entries
        ]
    found[ROW] = [before + row for row, *_ in entries]
    found[KEY] = [key for _, key, *_ in entries]
    found[PLACE] = [place for _, _, place, _ in entries]
    return len(entries), found


def _entries(cell: Any) -> Iterator[tuple[str | None, int | None, Any]]:
    """Give key, place and value of each value in a cell."""
    for key, own in cell.items() if isinstance(cell, dict) else [(None, cell)]:
        if isinstance(own, list):
            yield from ((key, place, value) for place, value in enumerate(own))
        else:
            yield key, None, own
