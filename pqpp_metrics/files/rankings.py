"""Runs and relevance judgments: TREC files, or tables with a row for each document of a query."""

import math
import re
from collections.abc import Mapping
from typing import Any

from pqpp_files.read_table import Table
from pqpp_metrics import trec
from pqpp_metrics.errors import MetricFileError, MetricInputError
from pqpp_metrics.files.joined_rows import as_text
from pqpp_metrics.files.named_files import TABLES, Reading, has_suffix, named_table, split_columns
from pqpp_metrics.functional._categories import group_codes
from pqpp_metrics.run_forms import NAMES


def is_long(table: Table, how: Reading) -> bool:
    """Whether a table has a row for each document of a query, and not one for each query."""
    names = _names(table, how)
    lists = [name for name in table.columns if any(isinstance(c, list) for c in table[name][:1])]
    return all(names) and not lists


def read_rankings(run: str, qrels: str, how: Reading, tables: Mapping[str, Table] = {}) -> Any:
    """Read a run and relevance judgments, each a TREC file or a table, and bring them together.

    Args:
        run: `FILE` or `FILE:COLUMN`. A table has columns of queries, documents and scores.
        qrels: The same with relevance. Where both are one file, a row without a score was not
            retrieved, and one without relevance not judged.
        how: See there.
        tables: Files that were read already.

    Returns:
        `pqpp_metrics.trec.Rankings`, and how many rows were left out because of NaN.

    Raises:
        MetricFileError: What can't be used, in one line with file and line.
        FileError: A file can't be read.
    """
    is_one = split_columns(run)[0] == split_columns(qrels)[0]
    found, left = read_side("run", run, how, is_one, tables)
    judgments, left_there = read_side("qrels", qrels, how, is_one, tables)
    try:
        return trec.rankings(found, judgments, how.missing, how.keep_unjudged), left + left_there
    except MetricInputError as error:
        raise MetricFileError(in_options(str(error))) from None


def read_side(
    side: str, text: str, how: Reading, is_one: bool, tables: Mapping[str, Table] = {}
) -> Any:
    """Read a run or relevance judgments, as `read_rankings` does.

    Args:
        side: `run` or `qrels`.
        text: `FILE` or `FILE:COLUMN`.
        how: See there.
        is_one: Whether the other side stands in the same file.
        tables: Files that were read already.

    Returns:
        `pqpp_metrics.trec.Judged`, and how many rows were left out because of NaN.
    """
    path = split_columns(text)[0]
    if path not in tables and not has_suffix(path, TABLES):  # runs and qrels are called anything
        return (trec.read_run if side == "run" else trec.read_qrels)(path), 0
    table = tables[path] if path in tables else named_table(path, how)
    return _judged(table, text, side, how, is_one)


def in_options(message: str) -> str:
    """Say what functions advise as options are written.

    Example:
        >>> in_options("choose missing='zero' or missing='drop'")
        'choose `missing` zero or `missing` drop'
    """
    return re.sub(r"missing='(\w+)'", r"`missing` \1", message)


def _names(table: Table, how: Reading) -> list[str | None]:
    """Return the columns of queries and documents, None where there is none."""
    if len(how.ids) == 2:
        return list(how.ids)
    return [
        next((n for n in known if n in table), None)
        for known in (NAMES["query"], NAMES["document"])
    ]


def _judged(table: Table, text: str, side: str, how: Reading, is_one: bool) -> tuple[Any, int]:
    """Return the documents of a table, and how many rows were left out because of NaN."""
    import pyarrow

    columns = _names(table, how)
    column = split_columns(text)[1] or next((n for n in NAMES[side] if n in table), None)
    kinds = (NAMES["query"], NAMES["document"], NAMES[side])
    for name, what in zip((*columns, column), kinds, strict=True):
        if name is None:
            came = f"{table.path}: no column {what[0]!r} among {', '.join(table.columns)[:200]}"
            raise MetricFileError(f"{came}; name it so, or one of {', '.join(what[1:])}")
    assert column is not None
    values = table.numbers(column)
    rows = [row for row, value in enumerate(values) if not math.isnan(value)]
    left = 0 if is_one else len(values) - len(rows)
    wrong = next((row for row in rows if math.isinf(values[row])), None)
    if wrong is None and left and how.nan == "error":
        wrong = next(row for row, value in enumerate(values) if math.isnan(value))
    if wrong is not None:
        came = f"{table.place_of(wrong)}: {column} is {values[wrong]}"
        raise MetricFileError(f"{came}; a finite number is needed, or `nan` drop")
    keys = [name for name in columns if name is not None]
    ids = [[as_text(cell) for cell in map(table[name].__getitem__, rows)] for name in keys]
    for name, texts in zip(columns, ids, strict=True):
        if "" in texts:
            place = table.place_of(rows[texts.index("")])
            raise MetricFileError(f"{place}: {name!r} is empty; give every row one")
    if not rows:
        raise MetricFileError(f"{table.path}: no row has a {column}; give a file with some")
    values = [values[row] for row in rows]
    names = pyarrow.array(ids[1], pyarrow.string())
    found = trec.judged_of(group_codes("ids", ids[0]), names, values, side == "qrels")
    trec.refuse_repeated(found, lambda line: table.place_of(rows[line]), MetricFileError)
    return found, left
