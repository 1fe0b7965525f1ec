"""Reading a metric's inputs from the files that people have them in."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pqpp_cli.errors import CommandError

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_TREC = (".run", ".qrels", ".trec", ".txt")


def read_inputs(
    metric: str, names: Sequence[str], files: Mapping[str, str], missing: str = "error"
) -> dict[str, list]:
    """Read every input of a metric.

    Args:
        metric: The metric's name, for messages.
        names: The inputs that it takes.
        files: Input to `FILE` or `FILE:COLUMN`.
        missing: What a query does that only one of a TREC run and qrels has: `error`, `zero` or
            `drop`.

    Returns:
        Input to one value a row; from TREC files also `unretrieved`, the grades of relevant
        documents that the run does not hold.

    Raises:
        CommandError: If an input is missing or unknown, or a file does not hold it.
    """
    unknown = [name for name in files if name not in names]
    lacking = [name for name in names if name not in files]
    if unknown or lacking:
        what = f"{unknown[0]} is no input" if unknown else f"{lacking[0]} is missing"
        given = " ".join(_spelled(name) for name in names)
        raise CommandError(f"{metric}: {what}; give {given}")
    suffixes = {Path(_split(text)[0]).suffix.lower() for text in files.values()}
    if suffixes & set(_TREC):
        return _read_trec(metric, files, suffixes, missing)
    return {name: read_column(name, files[name]) for name in names}


def _spelled(name: str) -> str:
    plain = name in ("predictions", "references")
    return f"--{name} FILE" if plain else f"--input {name}=FILE"


def _split(text: str) -> tuple[str, str | None]:
    """Part FILE:COLUMN; a file of that whole name wins."""
    path, colon, column = text.rpartition(":")
    if not colon or not path or Path(text).exists() or "/" in column or "\\" in column:
        return text, None
    return path, column


def _read_trec(
    metric: str, files: Mapping[str, str], suffixes: set[str], missing: str
) -> dict[str, list]:
    from pqpp_metrics.trec import rankings, read_qrels, read_run

    if set(files) != {"predictions", "references"} or suffixes & set(_TABLES):
        raise CommandError(
            f"{metric}: a TREC run and qrels go together, as --predictions and --references"
        )
    run, qrels = read_run(files["predictions"]), read_qrels(files["references"])
    found = rankings(run, qrels, missing=missing)
    return {
        "predictions": found.scores.tolist(),
        "references": found.relevance.tolist(),
        "unretrieved": found.unretrieved.tolist(),
    }


def read_column(name: str, text: str) -> list:
    """Read a column of a table.

    Args:
        name: The column that is taken where `text` names none.
        text: `FILE` or `FILE:COLUMN`.

    Raises:
        CommandError: If the file is of another type, damaged, or has no such column.
    """
    path, column = _split(text)
    suffix = Path(path).suffix.lower()
    if suffix not in _TABLES:
        raise CommandError(
            f"{path}: files of type {suffix!r} are not read; use one of {', '.join(_TABLES)}, or "
            f"for rankings {', '.join(_TREC)}"
        )
    frame = read_table(path)
    if column is not None:
        if column not in frame:
            raise CommandError(f"{path}: no column {column!r} among {_names(frame)}")
        return _values(frame[column])
    if name in frame:
        return _values(frame[name])
    if len(frame.columns) == 1:
        return _values(frame[frame.columns[0]])
    if suffix in (".csv", ".tsv") and all(kind.kind in "fiub" for kind in frame.dtypes):
        return frame.to_numpy(dtype=float).tolist()
    raise CommandError(
        f"{path}: no column {name!r} among {_names(frame)}; name one by {path}:COLUMN"
    )


def _names(frame) -> str:
    return ", ".join(map(str, frame.columns))[:200]


def _values(column) -> list:
    return [value.tolist() if hasattr(value, "tolist") else value for value in column]


def read_table(path: str):
    """Read a table as a pandas `DataFrame`.

    Args:
        path: A CSV, TSV, JSON, JSONL or Parquet file.

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
            return pd.read_csv(path, sep=separator, skip_blank_lines=False)
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
