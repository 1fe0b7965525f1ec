"""Reading a metric's inputs from the files that people have them in."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pqpp_cli.errors import CommandError
from pqpp_files.names import comma_separated
from pqpp_files.read_table import Table, read_table

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_TREC = (".run", ".qrels", ".trec", ".txt")
# What the rows of several files are joined by, the first that all have; ids are read as text.
_KEYS = ("id", "query_id", "prompt_id", "prompt")
_IDS = (*_KEYS, "prompt_ids")
_TRUTH = {"True": True, "true": True, "False": False, "false": False}


def read_inputs(
    metric: str,
    names: Sequence[str],
    files: Mapping[str, str],
    missing: str = "error",
    groups: bool = False,
) -> dict[str, list]:
    """Read every input of a metric.

    Rows of different files that carry ids go together by id, else by their place.

    Args:
        metric: The metric's name, for messages.
        names: The inputs that it takes.
        files: Input to `FILE`, `FILE:COLUMN` or `FILE:COLUMN,COLUMN,...`.
        missing: What a query does that only one side has, the TREC run or qrels, or one of
            several tables: `error`, `zero` (TREC only) or `drop`.
        groups: Whether a column of plain values is one entry, and goes with no other by row.

    Returns:
        Input to one value a row; from TREC files also `unretrieved`, the grades of relevant
        documents that the run does not hold.

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
        return _read_trec(metric, files, suffixes, missing)
    tables = {path: read_table(path, kinds=_TABLES) for path in dict.fromkeys(paths.values())}
    taken = {name: _columns_of(name, files[name], tables[paths[name]]) for name in names}
    values = {name: _rows(name, tables[paths[name]], taken[name]) for name in names}
    if groups and not any(isinstance(column[0], list) for column in values.values() if column):
        return {name: [column] for name, column in values.items()}
    used = {path: set() for path in tables}
    for name, columns in taken.items():
        used[paths[name]] |= set(columns) if isinstance(columns, list) else {columns}
    rows = _rows_by_id(tables, used, missing)
    return {
        name: [column[row] for row in rows[paths[name]]] if rows else column
        for name, column in values.items()
    }


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


def _read_trec(
    metric: str, files: Mapping[str, str], suffixes: set[str], missing: str
) -> dict[str, list]:
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
    return {
        "predictions": found.scores.tolist(),
        "references": found.relevance.tolist(),
        "unretrieved": found.unretrieved.tolist(),
    }


def _columns_of(name: str, text: str, table: Table) -> str | list[str]:
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
    plain = [one for one in table.columns if one not in _IDS] or list(table.columns)
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


def _rows_by_id(tables: Mapping, used: Mapping[str, set], missing: str) -> dict[str, list] | None:
    """Return, for each file, its rows in the order of the ids of the first; None: as they are."""
    for key in _KEYS:
        # A column that is scored is no name of its row.
        holders = [path for path in tables if key in tables[path] and key not in used[path]]
        if len(holders) < 2:
            continue
        ids = {path: list(map(_as_text, tables[path][key])) for path in holders}
        alike = len({tuple(own) for own in ids.values()}) == 1
        if len(holders) == len(tables):
            return None if alike else _joined(key, ids, missing)
        if not alike:
            other = next(path for path in tables if path not in holders)
            raise CommandError(
                f"{holders[0]} and {holders[1]} differ in {key!r}, which {other} does not have; "
                "add it there"
            )
    return None


def _as_text(one) -> str:
    """Return an id as text, 7.0 as 7; the empty text where there is none."""
    if one is None or one != one:
        return ""
    return str(int(one) if isinstance(one, float) and one.is_integer() else one)


def _joined(key: str, ids: Mapping[str, list[str]], missing: str) -> dict[str, list[int]]:
    """Return the rows of each file, brought into the order of the first by their ids."""
    places = {path: dict(zip(own, range(len(own)), strict=True)) for path, own in ids.items()}
    for path, own in ids.items():
        if "" in places[path]:
            row = own.index("") + 1
            raise CommandError(f"{path}: row {row} has no {key!r}; give every row one")
        if len(places[path]) < len(own):
            again = next(one for row, one in enumerate(own) if places[path][one] != row)
            raise CommandError(
                f"{path}: {key} {again!r} is there twice, so rows cannot be joined by it; keep one"
            )
    common = set.intersection(*map(set, places.values()))
    for path, own in places.items():
        alone = [one for one in own if one not in common]
        if alone and missing != "drop":
            raise CommandError(
                f"{path}: {len(alone)} {key} not in every file ({', '.join(alone[:3])}); complete "
                "the files, or choose --missing drop (zero is for TREC files)"
            )
    if not common:
        raise CommandError(f"{' and '.join(ids)} have no {key} in common; give files that do")
    kept = [one for one in next(iter(places.values())) if one in common]
    return {path: [own[one] for one in kept] for path, own in places.items()}
