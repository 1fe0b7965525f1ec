"""Reading a metric's inputs from the files that people have them in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.metric_files.joined_rows import KEYS, joined
from pqpp_cli.metric_files.named_files import (
    Reading,
    is_trec,
    lacks_value,
    named_table,
    split_columns,
)
from pqpp_cli.metric_files.rankings import is_long, read_rankings
from pqpp_files.names import comma_separated
from pqpp_files.read_table import Table

_IDS = (*KEYS, "prompt_ids")
_TRUTH = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


@dataclass
class Inputs:
    """The inputs of a metric, one value a row.

    Attributes:
        columns: Input to its values: numbers, texts, or lists of them.
        ids: What names each row, a text; None where nothing does.
        told: How the rows of the files were brought together, in words.
        unretrieved: From a run and qrels: the grades of relevant documents that the run lacks.
        document_ids: From a run and qrels: gives numbers in the order of the documents' names.
        place_of: Says of an input and a row where the cell stands.
    """

    columns: dict[str, Any]
    ids: list[str] | None = None
    told: str = ""
    unretrieved: Any = None
    document_ids: Callable | None = None
    place_of: Callable[[str, int], str] | None = None


def read_inputs(
    metric: str,
    names: Sequence[str],
    files: Mapping[str, str],
    how: Reading,
    groups: bool = False,
    ranked: bool = False,
) -> Inputs:
    """Read every input of a metric.

    Rows of different files that have ids go together by id, else by their place.

    Args:
        metric: The metric's name, for messages.
        names: The inputs that it takes.
        files: Input to `FILE`, `FILE:COLUMN` or `FILE:COLUMN,COLUMN,...`.
        how: See there.
        groups: Whether a column of plain values is one entry, and goes with no other by row.
        ranked: Whether the inputs are the scores and the relevance of each query's documents, which
            may stand on a row each.

    Raises:
        CommandError: If an input is missing or unknown, or ids of two files do not fit.
        FileError: If a file is not there, is damaged or lacks a column.
    """
    unknown = [name for name in files if name not in names]
    lacking = [name for name in names if name not in files]
    if unknown or lacking:
        what = f"{unknown[0]} is no input" if unknown else f"{lacking[0]} is missing"
        raise CommandError(f"{metric}: {what}; give {' '.join(map(spelled, names))}")
    paths = {name: split_columns(files[name])[0] for name in names}
    trec = [path for path in paths.values() if is_trec(path)]
    are_pairs = set(names) == {"predictions", "references"}
    rows_of = dict.fromkeys(path for path in paths.values() if path not in trec)
    if trec and are_pairs:
        rows_of.pop("-", None)
    tables = {path: named_table(path, how) for path in rows_of}
    is_run = are_pairs and all(is_long(table, how) for table in tables.values())
    if is_run and (trec or ranked):
        return _rankings(files["predictions"], files["references"], how, tables)
    if trec:
        raise CommandError(
            f"{metric}: a TREC run and qrels go together, as --predictions and --references"
        )
    taken = {name: _columns_of(name, files[name], tables[paths[name]], how.ids) for name in names}
    values = {name: _rows(name, tables[paths[name]], taken[name]) for name in names}
    if groups and not any(isinstance(column[0], list) for column in values.values() if column):
        return _groups(values, how)
    used: dict[str, set[str]] = {path: set() for path in tables}
    for name, columns in taken.items():
        used[paths[name]] |= set(columns) if isinstance(columns, list) else {columns}
    found = joined(tables, used, how.ids, how.missing)
    places: Mapping[str, Sequence[int]]
    places = found.rows or {path: range(len(table)) for path, table in tables.items()}
    rows = {name: places[path] for name, path in paths.items()}
    values = {name: list(map(own.__getitem__, rows[name])) for name, own in values.items()}
    inputs = Inputs(values, found.ids, found.told)
    inputs.place_of = lambda name, row: tables[paths[name]].place_of(rows[name][row])
    return _without_blanks(inputs) if how.nan == "drop" else inputs


def odd_cell(inputs: Inputs) -> str:
    """Say where a cell is that may be why a metric refused its inputs: empty, or no number.

    Returns:
        One line; empty where every cell is like the others.
    """
    blank = {name: list(map(lacks_value, cells)) for name, cells in inputs.columns.items()}
    if inputs.place_of is None:
        return ""
    for name, cells in blank.items():
        if any(cells):
            number = sum(map(any, zip(*blank.values(), strict=False)))
            more = f", as are {number:,} rows in all" if number > 1 else ""
            place = inputs.place_of(name, cells.index(True))
            return f"{place}: {name} is empty or NaN{more}; --nan drop leaves such rows out"
    for name, cells in inputs.columns.items():
        texts = [isinstance(cell, str) and not _is_number(cell) for cell in cells]
        if any(texts) and not all(texts):
            row = texts.index(True)
            return f"{inputs.place_of(name, row)}: {name} is {cells[row]!r:.60} among numbers"
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_blanks(inputs: Inputs) -> Inputs:
    """Leave out the rows with an empty cell or NaN, and say how many."""
    columns, place_of = inputs.columns, inputs.place_of
    if len(set(map(len, columns.values()))) > 1:  # the metric says so
        return inputs
    kept = [not any(map(lacks_value, cells)) for cells in zip(*columns.values(), strict=True)]
    if not any(kept):
        raise CommandError("every row has an empty cell or NaN; give a file with values")
    rows = list(compress(range(len(kept)), kept))
    return Inputs(
        {name: list(compress(cells, kept)) for name, cells in columns.items()},
        inputs.ids and list(compress(inputs.ids, kept)),
        _with_left_out(inputs.told, len(kept) - len(rows)),
        place_of=place_of and (lambda name, row: place_of(name, rows[row])),
    )


def _with_left_out(told: str, rows: int) -> str:
    left = f"{rows:,} {'row' if rows == 1 else 'rows'} with NaN left out" if rows else ""
    return "; ".join(filter(None, (told, left)))


def _groups(values: dict[str, list], how: Reading) -> Inputs:
    """Return columns that are one entry each."""
    if how.nan != "drop":
        return Inputs({name: [column] for name, column in values.items()})
    kept = {n: [cell for cell in cells if not lacks_value(cell)] for n, cells in values.items()}
    left = sum(map(len, values.values())) - sum(map(len, kept.values()))
    return Inputs({n: [cells] for n, cells in kept.items()}, told=_with_left_out("", left))


def _rankings(run: str, qrels: str, how: Reading, tables: Mapping[str, Table]) -> Inputs:
    found, left = read_rankings(run, qrels, how, tables)
    columns = {"predictions": found.scores, "references": found.relevance}
    told = _with_left_out("", left)
    return Inputs(columns, found.query_ids, told, found.unretrieved, lambda: found.document_ids)


def spelled(name: str) -> str:
    """Return how an input is given on the command line."""
    plain = name in ("predictions", "references")
    return f"--{name} FILE" if plain else f"--input {name}=FILE"


def _columns_of(name: str, text: str, table: Table, ids: Sequence[str]) -> str | list[str]:
    """Return the column that an input is in, or the several whose values are one list a row."""
    path, column = split_columns(text)
    if column is not None:
        if column in table:
            return column
        parts = comma_separated(column) or [column]
        for part in parts:
            _ = table[part]  # refuses a column that is not there
        return parts
    if name in table:
        return name
    known = {*_IDS, *ids, *(table.index[0].split(",") if table.index else ())}
    plain = [one for one in table.columns if one not in known] or list(table.columns)
    if len(plain) == 1:
        return plain[0]
    if table.is_text and len({_is_numeric(_values(table, one)) for one in plain}) == 1:
        return plain
    raise CommandError(
        f"{path}: no column {name!r} among {', '.join(table.columns)[:200]}; name one by "
        f"{path}:COLUMN"
    )


def _is_numeric(values: Sequence) -> bool:
    return all(value is None or isinstance(value, int | float) for value in values)


def _values(table: Table, column: str) -> list:
    """Return a column with its numbers as such, and the truth values of a CSV file."""
    values = table.values(column)
    if table.is_text and set(values) - {None} <= _TRUTH.keys():
        return [_TRUTH.get(one) for one in values]
    return values


def _rows(name: str, table: Table, columns: str | list[str]) -> list:
    """Return the values of a column, or one list a row of several columns."""
    if isinstance(columns, list):
        return list(map(list, zip(*(_values(table, one) for one in columns), strict=True)))
    if name in _IDS or columns in _IDS:
        return [None if one == "" else one for one in table[columns]]
    return _values(table, columns)
