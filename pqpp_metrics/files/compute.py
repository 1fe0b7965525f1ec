"""A metric of what files hold: its inputs read from the files that people have them in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from pqpp_files.names import comma_separated
from pqpp_files.read_table import Table
from pqpp_metrics.errors import InputFormError, MetricFileError, MetricInputError
from pqpp_metrics.files import named_files
from pqpp_metrics.files.held_table import held_apart
from pqpp_metrics.files.joined_rows import KEYS, joined
from pqpp_metrics.files.named_files import Reading, lacks_value, split_columns
from pqpp_metrics.files.rankings import is_long, read_rankings

_COLUMNS = "name one column as FILE:COLUMN, or several as FILE:COLUMN,COLUMN"
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


def compute_files(
    name: str, files: Mapping[str, Any], options: Mapping[str, Any], reading: Reading | None = None
) -> tuple[dict[str, Any], str]:
    r"""Compute a metric from files or tables whose rows are joined by their ids.

    Args:
        name: The metric, as in `list_metrics`.
        files: Input to `FILE`, `FILE:COLUMN` or `FILE:COLUMN,COLUMN,...`; or to a table of pandas,
            polars, Arrow or datasets or a dict of columns, alone or with its column or columns,
            `(table, "score")`.
        options: Of the metric.
        reading: How the files are read.

    Returns:
        What the metric returns, with `ids` beside the values of single rows; and how the rows were
        joined, in words.

    Raises:
        UnknownMetricError: There is no such metric.
        MetricFileError: An input is missing, or ids do not fit.
        MetricInputError: The metric refuses the values.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = path.write_text("id,predicted,true\n1,0.5,1\n2,0.7,2\n3,0.6,3\n")
        >>> files = {"predictions": f"{path}:predicted", "references": f"{path}:true"}
        >>> round(compute_files("kendall_qpp", files, {})[0]["kendall_qpp"], 3)
        0.333
        >>> predicted = {"prompt_id": ["b", "a", "c"], "score": [0.7, 0.5, 0.6]}
        >>> true = {"prompt_id": ["a", "b", "c"], "hbpp": [1, 2, 3]}
        >>> found = compute_files("kendall_qpp", {"predictions": predicted, "references": true}, {})
        >>> round(found[0]["kendall_qpp"], 3), found[1]
        (0.333, 'joined on prompt_id, 3 rows')
    """
    from pqpp_metrics.forms import RANKINGS
    from pqpp_metrics.load import load_metric

    name = name.removeprefix("pqpp/")
    metric = load_metric(name)
    reading = reading or Reading()
    ranked = metric.forms is RANKINGS
    if ranked:
        from pqpp_metrics.functional._measures import tells_unjudged

        reading.keep_unjudged = tells_unjudged(metric.function) or bool(options.get("judged_only"))
    names = metric.input_names()
    inputs = read_inputs(name, names, files, reading, metric.takes_groups, ranked)
    return _scored(name, metric, inputs, dict(options)), inputs.told


def _scored(name: str, metric: Any, inputs: Inputs, options: dict[str, Any]) -> dict[str, Any]:
    """Compute a metric; the values of single rows come with what names the rows."""
    # What the run misses does not matter to every metric.
    if inputs.unretrieved is not None and "unretrieved" in metric.options():
        options = {"unretrieved": inputs.unretrieved} | options
    if inputs.document_ids is not None and options.get("ties") == "docno":
        options = {"document_ids": inputs.document_ids()} | options
    try:
        result = metric.score(inputs.columns, options)
    except MetricInputError as error:
        if odd := odd_cell(inputs):
            raise MetricFileError(f"{name}: {error} ({odd})") from None
        if isinstance(error, InputFormError):
            raise MetricFileError(f"{name}: {error}; {_COLUMNS}") from None
        raise
    if inputs.ids and "scores" in result and "prompt_ids" not in metric.input_names():
        result |= {"ids": inputs.ids}
    return result


def read_inputs(
    metric: str,
    names: Sequence[str],
    files: Mapping[str, Any],
    how: Reading,
    groups: bool = False,
    ranked: bool = False,
) -> Inputs:
    """Read every input of a metric.

    Rows of different files that have ids go together by id, else by their place.

    Args:
        metric: The metric's name, for messages.
        names: The inputs that it takes.
        files: As of `compute_files`.
        how: See there.
        groups: Whether a column of plain values is one entry, and goes with no other by row.
        ranked: Whether the inputs are the scores and the relevance of each query's documents, which
            may stand on a row each.

    Raises:
        MetricFileError: If an input is missing or unknown, or ids of two files do not fit.
        FileError: If a file is not there, is damaged or lacks a column.
    """
    unknown = [name for name in files if name not in names]
    lacking = [name for name in names if name not in files]
    if unknown or lacking:
        what = f"{unknown[0]} is no input" if unknown else f"{lacking[0]} is missing"
        raise MetricFileError(f"{metric}: {what}; give {' '.join(map(spelled, names))}")
    files, held = held_apart(files)
    paths = {name: split_columns(files[name])[0] for name in names}
    trec = [path for path in paths.values() if named_files.has_suffix(path, named_files.TREC)]
    are_pairs = set(names) == {"predictions", "references"}
    rows_of = dict.fromkeys(path for path in paths.values() if path not in trec)
    if trec and are_pairs:
        rows_of.pop("-", None)
    tables = {
        path: held[path] if path in held else named_files.named_table(path, how) for path in rows_of
    }
    is_run = are_pairs and all(is_long(table, how) for table in tables.values())
    if is_run and (trec or ranked):
        return _rankings(files["predictions"], files["references"], how, tables)
    if trec:
        raise MetricFileError(
            f"{metric}: a TREC run and qrels go together, as `predictions` and `references`"
        )
    taken = {name: _columns_of(name, files[name], tables[paths[name]], how.ids) for name in names}
    values = {name: _rows(name, tables[paths[name]], taken[name]) for name in names}
    if groups and not any(isinstance(column[0], list) for column in values.values() if column):
        return _groups(values, how)
    used: dict[str, set[str]] = {path: set() for path in tables}
    for name, columns in taken.items():
        used[paths[name]] |= set(columns) if isinstance(columns, list) else {columns}
    found = joined(tables, used, how.ids, how.missing)
    rows = {name: found.rows[path] for name, path in paths.items()}
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
            return f"{place}: {name} is empty or NaN{more}; `nan` drop leaves such rows out"
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
        raise MetricFileError("every row has an empty cell or NaN; give a file with values")
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
    return Inputs(columns, found.query_ids, told, found.unretrieved, lambda: found.document_numbers)


def spelled(name: str) -> str:
    """Return how an input is given on the command line."""
    plain = name in ("predictions", "references")
    return f"`{name}` FILE" if plain else f"`input` {name}=FILE"


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
    came = f"{path}: no column {name!r} among {', '.join(table.columns)[:200]}"
    raise MetricFileError(f"{came}; name one by {path}:COLUMN")


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
