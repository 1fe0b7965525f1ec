"""Reading a metric's inputs from the files that people have them in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.joined_rows import KEYS, joined
from pqpp_files.errors import NoHeaderError
from pqpp_files.names import comma_separated
from pqpp_files.read_table import Table, read_table

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_TREC = (".run", ".qrels", ".trec", ".txt")
_IDS = (*KEYS, "prompt_ids")
_TRUTH = {"True": True, "true": True, "False": False, "false": False}


@dataclass
class Reading:
    """How files are read.

    Attributes:
        missing: What a query does that only one side has, the TREC run or qrels, or an id that only
            one of several tables has: `error`, `zero` (TREC only) or `drop`.
        ids: The columns that together name a row; found where empty.
        header: Whether the first line of CSV names the columns.
    """

    missing: str = "error"
    ids: Sequence[str] = ()
    header: bool = True


@dataclass
class Inputs:
    """The inputs of a metric, one value a row.

    Attributes:
        columns: Input to its values: numbers, texts, or lists of them.
        ids: What names each row, a text; None where nothing does.
        told: How the rows of the files were brought together, in words.
        unretrieved: From a run and qrels: the grades of relevant documents that the run lacks.
    """

    columns: dict[str, Any]
    ids: list[str] | None = None
    told: str = ""
    unretrieved: Any = None


def read_inputs(
    metric: str,
    names: Sequence[str],
    files: Mapping[str, str],
    how: Reading,
    groups: bool = False,
) -> Inputs:
    """Read every input of a metric.

    Rows of different files that have ids go together by id, else by their place.

    Args:
        metric: The metric's name, for messages.
        names: The inputs that it takes.
        files: Input to `FILE`, `FILE:COLUMN` or `FILE:COLUMN,COLUMN,...`.
        how: See there.
        groups: Whether a column of plain values is one entry, and goes with no other by row.

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
    suffixes = {Path(path).suffix.lower() for path in paths.values()}
    if suffixes & set(_TREC):
        return _read_trec(metric, files, suffixes, how.missing)
    tables = {path: _table(path, how.header) for path in dict.fromkeys(paths.values())}
    taken = {name: _columns_of(name, files[name], tables[paths[name]], how.ids) for name in names}
    values = {name: _rows(name, tables[paths[name]], taken[name]) for name in names}
    if groups and not any(isinstance(column[0], list) for column in values.values() if column):
        return Inputs({name: [column] for name, column in values.items()})
    used = {path: set() for path in tables}
    for name, columns in taken.items():
        used[paths[name]] |= set(columns) if isinstance(columns, list) else {columns}
    found = joined(tables, used, how.ids, how.missing)
    if found.rows:
        rows = found.rows
        values = {name: [own[row] for row in rows[paths[name]]] for name, own in values.items()}
    return Inputs(values, found.ids, found.told)


def _table(path: str, header: bool) -> Table:
    try:
        return read_table(path, kinds=_TABLES, header=header)
    except NoHeaderError as error:
        raise CommandError(f"{error}, or read them by --no-header") from None


def spelled(name: str) -> str:
    """Return how an input is given on the command line."""
    plain = name in ("predictions", "references")
    return f"--{name} FILE" if plain else f"--input {name}=FILE"


def split_columns(text: str) -> tuple[str, str | None]:
    """Part FILE:COLUMN; a file of that whole name wins.

    Example:
        >>> split_columns("votes.csv:a,b"), split_columns("votes.csv")
        (('votes.csv', 'a,b'), ('votes.csv', None))
    """
    path, colon, column = text.rpartition(":")
    if not colon or not path or Path(text).exists() or "/" in column or "\\" in column:
        return text, None
    return path, column


def _read_trec(metric: str, files: Mapping[str, str], suffixes: set[str], missing: str) -> Inputs:
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.trec import rankings, read_qrels, read_run

    if set(files) != {"predictions", "references"} or suffixes & set(_TABLES):
        raise CommandError(
            f"{metric}: a TREC run and qrels go together, as --predictions and --references"
        )
    run, qrels = read_run(files["predictions"]), read_qrels(files["references"])
    try:
        found = rankings(run, qrels, missing=missing)
    except MetricInputError as error:  # in the words of the command line
        options = ("missing='zero' or missing='drop'", "--missing zero or --missing drop")
        raise CommandError(str(error).replace(*options)) from None
    columns = {"predictions": found.scores, "references": found.relevance}
    return Inputs(columns, found.query_ids, unretrieved=found.unretrieved)


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
    if _is_separated(path) and len({_is_numeric(_values(table, one)) for one in plain}) == 1:
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
    if _is_separated(table.path) and set(values) <= _TRUTH.keys():
        return [_TRUTH[one] for one in values]
    return values


def _is_separated(path: str) -> bool:
    return Path(path.lower().removesuffix(".gz")).suffix in (".csv", ".tsv")


def _rows(name: str, table: Table, columns: str | list[str]) -> list:
    """Return the values of a column, or one list a row of several columns."""
    if isinstance(columns, list):
        return list(map(list, zip(*(_values(table, one) for one in columns), strict=True)))
    if name in _IDS or columns in _IDS:
        return [None if one == "" else one for one in table[columns]]
    return _values(table, columns)
