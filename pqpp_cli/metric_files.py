"""Reading a metric's inputs from the files that people have them in."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pqpp_cli.errors import CommandError

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_TREC = (".run", ".qrels", ".trec", ".txt")
# What the rows of several files are joined by, the first that all have; ids are read as text.
_KEYS = ("id", "query_id", "prompt_id", "prompt")
_IDS = (*_KEYS, "prompt_ids")


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
        CommandError: If an input is missing or unknown, a file does not hold it, or ids of two
            files do not fit each other.
    """
    unknown = [name for name in files if name not in names]
    lacking = [name for name in names if name not in files]
    if unknown or lacking:
        what = f"{unknown[0]} is no input" if unknown else f"{lacking[0]} is missing"
        given = " ".join(_spelled(name) for name in names)
        raise CommandError(f"{metric}: {what}; give {given}")
    paths = {name: split_columns(files[name])[0] for name in names}
    suffixes = {Path(path).suffix.lower() for path in paths.values()}
    if suffixes & set(_TREC):
        return _read_trec(metric, files, suffixes, missing)
    ids = [split_columns(files[name])[1] for name in names if name in _IDS]
    frames = {path: _known_table(path, ids) for path in dict.fromkeys(paths.values())}
    taken = {name: _columns_of(name, files[name], frames[paths[name]]) for name in names}
    values = {name: _rows(frames[paths[name]], taken[name]) for name in names}
    if groups and not any(isinstance(column[0], list) for column in values.values() if column):
        return {name: [column] for name, column in values.items()}
    used = {path: set() for path in frames}
    for name, columns in taken.items():
        used[paths[name]] |= set(columns) if isinstance(columns, list) else {columns}
    rows = _rows_by_id(frames, used, missing)
    return {
        name: [column[row] for row in rows[paths[name]]] if rows else column
        for name, column in values.items()
    }


def _spelled(name: str) -> str:
    plain = name in ("predictions", "references")
    return f"--{name} FILE" if plain else f"--input {name}=FILE"


def split_columns(text: str) -> tuple[str, str | None]:
    """Part FILE:COLUMN; a file of that whole name wins.

    Args:
        text: `FILE` or `FILE:COLUMN`.

    Returns:
        The file and the column, None where none is named.

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


def read_column(name: str, text: str) -> list:
    """Read a column of a table.

    Args:
        name: The column that is taken where `text` names none.
        text: `FILE`, `FILE:COLUMN`, or `FILE:COLUMN,COLUMN,...` for one list a row.

    Raises:
        CommandError: If the file is of another type, damaged, or has no such column.
    """
    path, column = split_columns(text)
    frame = _known_table(path, [column] if name in _IDS else [])
    return _rows(frame, _columns_of(name, text, frame))


def _known_table(path: str, ids: Sequence[str | None]):
    """Read a table, or say what files a metric takes."""
    suffix = Path(path).suffix.lower()
    if suffix not in _TABLES:
        raise CommandError(
            f"{path}: files of type {suffix!r} are not read; use one of {', '.join(_TABLES)}, or "
            f"for rankings {', '.join(_TREC)}"
        )
    return read_table(path, ids)


def _columns_of(name: str, text: str, frame) -> str | list[str]:
    """Return the column that an input is in, or the several whose values are one list a row."""
    path, column = split_columns(text)
    if column is not None:
        if column in frame:
            return column
        parts = [part.strip() for part in column.split(",")]
        absent = [part for part in parts if part not in frame]
        if absent:
            raise CommandError(f"{path}: no column {absent[0]!r} among {_names(frame)}")
        return parts
    if name in frame:
        return name
    plain = [one for one in frame.columns if one not in _IDS] or list(frame.columns)
    if len(plain) == 1:
        return plain[0]
    if Path(path).suffix.lower() in (".csv", ".tsv") and _is_of_one_kind(frame[plain]):
        return plain
    raise CommandError(
        f"{path}: no column {name!r} among {_names(frame)}; name one by {path}:COLUMN"
    )


def _is_of_one_kind(frame) -> bool:
    """Tell whether a table holds nothing but numbers, or nothing but text."""
    from pandas.api.types import is_string_dtype

    numeric = [kind.kind in "fiub" for kind in frame.dtypes]
    return all(numeric) or all(is_string_dtype(frame[name]) for name in frame)


def _names(frame) -> str:
    return ", ".join(map(str, frame.columns))[:200]


def _rows(frame, columns: str | list[str]) -> list:
    """Return the values of a column, or one list a row of several columns."""
    if not isinstance(columns, list):
        return _values(frame[columns])
    if all(kind.kind in "fiub" for kind in frame[columns].dtypes):
        return frame[columns].to_numpy(dtype=float).tolist()
    return [list(row) for row in zip(*(_values(frame[one]) for one in columns), strict=True)]


def _values(column) -> list:
    return [value.tolist() if hasattr(value, "tolist") else value for value in column]


def _rows_by_id(frames: Mapping, used: Mapping[str, set], missing: str) -> dict[str, list] | None:
    """Return, for each file, its rows in the order of the ids of the first; None: as they are."""
    for key in _KEYS:
        # A column that is scored is no name of its row.
        holders = [path for path in frames if key in frames[path] and key not in used[path]]
        if len(holders) < 2:
            continue
        ids = {path: _ids(frames[path][key]) for path in holders}
        alike = len({tuple(own) for own in ids.values()}) == 1
        if len(holders) == len(frames):
            return None if alike else _joined(key, ids, missing)
        if not alike:
            other = next(path for path in frames if path not in holders)
            raise CommandError(
                f"{holders[0]} and {holders[1]} differ in {key!r}, which {other} does not have; "
                "add it there"
            )
    return None


def _ids(column) -> list[str]:
    """Return a column's ids as text; the empty text where there is none."""
    import pandas as pd

    known = column.dropna()
    whole = pd.api.types.is_float_dtype(column) and (known % 1 == 0).all()
    texts = (str(int(value) if whole else value) for value in known)
    return ["" if empty else next(texts) for empty in column.isna()]


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


def read_table(path: str, ids: Sequence[str | None] = ()):
    """Read a table as a pandas `DataFrame`; of a CSV file the ids as text.

    Args:
        path: A CSV, TSV, JSON, JSONL or Parquet file.
        ids: Columns that hold ids, beside those that are called so.

    Raises:
        CommandError: If it is of another type, or damaged.
    """
    import pandas as pd

    suffix = Path(path).suffix.lower()
    if suffix not in _TABLES:
        raise CommandError(
            f"{path}: files of type {suffix!r} are not read; use one of {', '.join(_TABLES)}"
        )
    try:
        if suffix in (".csv", ".tsv"):
            separator = "," if suffix == ".csv" else "\t"
            # A blank line is a row without a value, not no row: pairs must stay pairs.
            table = {"sep": separator, "skip_blank_lines": False}
            header = pd.read_csv(path, nrows=0, **table).columns
            # As a number the id 007 would become 7.
            texts = {*_IDS, *ids}
            held = [name for name in header if name in texts]
            # And the prompt "None" would be none; only an empty cell is.
            found = pd.read_csv(path, converters=dict.fromkeys(held, str), **table)
            return found.assign(**{name: found[name].replace("", None) for name in held})
        if suffix == ".parquet":
            return pd.read_parquet(path)
        text = Path(path).read_text("utf-8-sig")
        records = (
            [json.loads(line) for line in text.splitlines() if line.strip()]
            if suffix == ".jsonl"
            else json.loads(text)
        )
    except (ValueError, RecursionError, pd.errors.ParserError) as error:
        raise CommandError(f"{path}: not readable as {suffix[1:]} ({error}); correct it") from None
    if not isinstance(records, list) or not records:
        raise CommandError(f"{path}: a list of values or of objects is needed")
    if not all(isinstance(record, dict) for record in records):
        records = [{"value": record} for record in records]
    return pd.DataFrame({key: [r.get(key) for r in records] for key in records[0]})
