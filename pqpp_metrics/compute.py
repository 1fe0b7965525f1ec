"""Compute a metric from files in common formats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from pqpp_files.names import split_names
from pqpp_files.open_input import find_suffix
from pqpp_files.read_table import Table
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.tables import (
    KEYS,
    TREC,
    Reading,
    Source,
    describe_dropped,
    join_tables,
    load_source,
    split_path_and_columns,
)

_IDS = (*KEYS, "prompt_ids")
_TRUTH = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


@dataclass
class MetricInputs:
    """The inputs of a metric, one value per row.

    Attributes:
        columns: The values of each input by name: numbers, texts, or lists of them.
        notes: How rows of the files were joined, and how many were left out.
        ids: The id of each row; None if there are none.
        options: Further options from a run and qrels.
        locate: A function of an input and a row, which returns the cell's location.
    """

    columns: Mapping[str, Any]
    notes: list[str]
    ids: list[str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    locate: Callable[[str, int], str] | None = None


def compute_files(
    name: str, files: Mapping[str, Any], options: Mapping[str, Any], reading: Reading | None = None
) -> tuple[dict[str, Any], str]:
    r"""Compute a metric from files or tables whose rows are joined by their ids.

    Args:
        name: The metric, as in `list_metrics`.
        files: Maps each input to `FILE`, `FILE:COLUMN` or `FILE:COLUMN,COLUMN,...`; or to a table
            of pandas, polars, Arrow or datasets or a dict of columns, alone or with its column or
            columns, `(table, "score")`.
        reading: How the files are read.

    Returns:
        The metric's result, with the `ids` of single rows; and how the rows were joined, in words.

    Raises:
        FileNotFoundError: The metric does not exist.
        MetricInputError: An input is missing or unknown, ids do not match, or a value is not
            allowed.
        FileError: A file or column is missing, or a file is damaged.

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
    from pqpp_metrics.registration import load_metric

    name, reading = name.removeprefix("pqpp/"), reading or Reading()
    metric = load_metric(name)
    inputs = _read_inputs(name, metric, files, options, reading)
    try:
        result = metric.score(inputs.columns, {**inputs.options, **options})
    except MetricInputError as error:
        names_input = any(f"`{name}`" in str(error) for name in inputs.columns)
        if names_input and (cell := _find_invalid_cell(inputs)):
            raise MetricInputError(f"{name}: {error} ({cell})") from None
        raise
    if inputs.ids and "scores" in result and "prompt_ids" not in metric.get_input_names():
        result |= {"ids": inputs.ids}
    return result, "; ".join(filter(None, inputs.notes))


def _read_inputs(
    label: str, metric: Any, files: Mapping[str, Any], options: Mapping[str, Any], how: Reading
) -> MetricInputs:
    """Read every input, and join rows of different files by id, or by position without ids."""
    from pqpp_metrics.forms import RANKINGS

    names = metric.get_input_names()
    faults = [f"`{name}` is not an input" for name in files if name not in names]
    faults += [f"`{name}` is missing" for name in metric.forms[-1] if name not in files]
    if faults:
        positional = ("predictions", "references")
        arguments = [f"`{n}` FILE" if n in positional else f"`input` {n}=FILE" for n in names]
        raise MetricInputError(f"{label}: {faults[0]}; give {' and '.join(arguments)}")
    are_pairs = set(names) == {"predictions", "references"}
    paths = [split_path_and_columns(text)[0] for text in files.values() if isinstance(text, str)]
    trec = [path for path in paths if find_suffix(path) in TREC]
    if trec and are_pairs:
        trec.append("-")
    tables: dict[Any, Any] = {}
    sources = {n: load_source(n, files[n], how, trec, tables) for n in names if n in files}
    if trec or metric.forms is RANKINGS:
        from pqpp_metrics.runs import has_row_per_document

        if are_pairs and all(has_row_per_document(table, how) for table in tables.values()):
            return _read_rankings(sources, how, options)
    if trec:
        rule = "needs `predictions` and `references` with one row per document"
        raise MetricInputError(f"{label}: the TREC file {trec[0]} {rule}")
    columns, cells = {}, {}
    for name, source in sources.items():
        kind = metric.forms[0][name].kind
        columns[name], cells[name] = _find_column(name, source, how.ids, kind)
    has_lists = any(isinstance(column[0], list) for column in cells.values() if column)
    if metric.takes_groups and not has_lists:
        drop = how.nan == "drop"  # columns that are one entry each are not paired by row
        groups = {n: [c for c in cells[n] if not (drop and has_missing(c))] for n in cells}
        n_dropped = sum(map(len, cells.values())) - sum(map(len, groups.values()))
        return MetricInputs({n: [groups[n]] for n in groups}, [describe_dropped(n_dropped)])
    return _join_rows(sources, columns, cells, how)


def _read_rankings(
    sources: Mapping[str, Source], how: Reading, options: Mapping[str, Any]
) -> MetricInputs:
    from pqpp_metrics.runs import join_rankings, read_input

    run, qrels = sources["predictions"], sources["references"]
    is_one_file = run.path == qrels.path
    documents, dropped = read_input("run", run, how, is_one_file)
    judgments, more = read_input("qrels", qrels, how, is_one_file)
    keep_unjudged = bool(options.get("judged_only"))
    rankings = join_rankings(documents, judgments, how.missing, keep_unjudged)
    extra = {"unretrieved": rankings.unretrieved, "document_ids": rankings.document_numbers}
    columns = {"predictions": rankings.scores, "references": rankings.relevance}
    return MetricInputs(columns, [describe_dropped(dropped + more)], rankings.query_ids, extra)


def _join_rows(
    sources: Mapping[str, Source],
    columns: Mapping[str, list[str]],
    cells: Mapping[str, list],
    how: Reading,
) -> MetricInputs:
    tables = {source.path: source.table for source in sources.values()}
    used: dict[str, set[str]] = {path: set() for path in tables}
    for name, source in sources.items():
        used[source.path].update(columns[name])
    by_file, ids, note = join_tables(tables, used, how.ids, how.missing)
    rows = {name: by_file[source.path] for name, source in sources.items()}
    values = {name: [column[row] for row in rows[name]] for name, column in cells.items()}
    n_dropped = 0
    if how.nan == "drop" and len(set(map(len, values.values()))) == 1:  # else the metric raises
        is_complete = [not any(map(has_missing, row)) for row in zip(*values.values(), strict=True)]
        if not any(is_complete):
            raise MetricInputError("every row has an empty cell or NaN; fill in some rows")
        n_dropped = is_complete.count(False)
        values = {name: list(compress(column, is_complete)) for name, column in values.items()}
        rows = {name: list(compress(column, is_complete)) for name, column in rows.items()}
        ids = ids and list(compress(ids, is_complete))

    def locate(name: str, row: int) -> str:
        return sources[name].table.locate(rows[name][row])

    return MetricInputs(values, [note, describe_dropped(n_dropped)], ids, locate=locate)


def _find_invalid_cell(inputs: MetricInputs) -> str:
    """Describe an empty cell that may explain an error; empty if there is none."""
    if inputs.locate is None:
        return ""
    blank = {name: list(map(has_missing, cells)) for name, cells in inputs.columns.items()}
    for name, cells in blank.items():
        if any(cells):
            number = sum(map(any, zip(*blank.values(), strict=False)))
            note = f" (one of {number:,} such rows)" if number > 1 else ""
            where = inputs.locate(name, cells.index(True))
            return f"{where}: {name} is empty or NaN{note}; to skip such rows, set `nan` to drop"
    return ""


def has_missing(cell: object) -> bool:
    """Return whether a cell is empty or NaN, or a list with such a value.

    Example:
        >>> [has_missing(cell) for cell in (None, [1.0, float("nan")], 0, "")]
        [True, True, False, False]
    """
    if isinstance(cell, list):
        return any(map(has_missing, cell))
    return cell is None or (isinstance(cell, float) and cell != cell)


def _find_column(
    name: str, source: Source, ids: Sequence[str], kind: str
) -> tuple[list[str], list]:
    """Return the columns of an input, and for each row its value, or its list of values.

    Args:
        kind: As in `Entry`. The cells of a single column of text, such as a year read from an
            image, are unchanged.
    """
    path, requested, table = source
    if requested is not None:
        columns = [requested] if requested in table else split_names(requested) or [requested]
    elif name in table:
        columns = [name]
    else:
        keys = {*_IDS, *ids, *(table.index[0].split(",") if table.index else ())}
        columns = [column for column in table.columns if column not in keys] or [*table.columns]
        kinds = (map(type, filter(None, _read_values(table, column))) for column in columns)
        are_alike = table.is_text and len({str in kind for kind in kinds}) == 1
        if len(columns) > 1 and not are_alike:
            fault = f"{path}: no column {name!r} (columns: {', '.join(table.columns)[:200]})"
            raise MetricInputError(f"{fault}; choose columns with {path}:COLUMN[,COLUMN]")
    if len(columns) > 1 or columns[0] != (requested or columns[0]):
        cells = zip(*(_read_values(table, column, kind) for column in columns), strict=True)
        return columns, list(map(list, cells))
    if kind == "text":
        return columns, table[columns[0]]
    if name in _IDS or columns[0] in _IDS:
        return columns, [None if cell == "" else cell for cell in table[columns[0]]]
    return columns, _read_values(table, columns[0], kind)


def _read_values(table: Table, column: str, kind: str = "label") -> list:
    """Return the values of a column, with a CSV file's numbers and truth values converted.

    If `kind` is "number", texts like +1 and 007 are numbers too, and others are refused.
    """
    values = table.values(column)
    if table.is_text and set(values) - {None} <= _TRUTH.keys():
        return [_TRUTH.get(value) for value in values]
    return table.numbers(column) if kind == "number" and str in map(type, values) else values
