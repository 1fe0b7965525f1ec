"""Runs and relevance judgments: TREC files, or tables with a row for each document of a query."""

from collections.abc import Sequence

import numpy as np

from pqpp_files.read_table import Table
from pqpp_metrics import trec
from pqpp_metrics.errors import MetricFileError
from pqpp_metrics.files.joined_rows import as_text
from pqpp_metrics.files.sources import Reading, Source
from pqpp_metrics.functional._categories import group_codes
from pqpp_metrics.run_forms import NAMES


def is_long(table: Table, how: Reading) -> bool:
    """Whether a table has a row for each document of a query, and not one for each query."""
    has_lists = any(isinstance(c, list) for cells in table.columns.values() for c in cells[:1])
    return None not in _ids_of(table, how) and not has_lists


def read_side(side: str, source: Source, how: Reading, is_one: bool) -> tuple[trec.Judged, int]:
    """Read a run or relevance judgments.

    Args:
        side: `run` or `qrels`.
        source: The file or table; a table has columns of queries, documents and values.
        how: See there.
        is_one: Whether the other side stands there as well; then a row without a score was not
            retrieved, and one without relevance not judged.

    Returns:
        The documents, and how many rows were left out because of NaN.

    Raises:
        MetricFileError: What can't be used, in one line with file and line.
        FileError: A file can't be read.
    """
    import pyarrow

    if (table := source.table) is None:
        return (trec.read_run if side == "run" else trec.read_qrels)(source.path), 0
    columns = [*_ids_of(table, how), source.columns or _known(table, side)]
    if None in columns:
        known = NAMES[("query", "document", side)[columns.index(None)]]
        came = f"{table.path}: no column {known[0]!r} among {', '.join(table.columns)[:200]}"
        raise MetricFileError(f"{came}; name it so, or one of {', '.join(known[1:])}")
    *keys, column = filter(None, columns)
    values = np.array(table.numbers(column))
    refused = np.isinf(values) if is_one or how.nan == "drop" else ~np.isfinite(values)
    if refused.any():
        came = f"{table.place_of(int(refused.argmax()))}: {column} is {values[refused.argmax()]}"
        raise MetricFileError(f"{came}; a finite number is needed, or `nan` drop")
    rows = np.flatnonzero(~np.isnan(values)).tolist()
    if not rows:
        raise MetricFileError(f"{table.path}: no row has a {column}; give a file with some")
    ids = [list(map(as_text, map(table[name].__getitem__, rows))) for name in keys]
    for name, texts in zip(keys, ids, strict=True):
        if "" in texts:
            place = table.place_of(rows[texts.index("")])
            raise MetricFileError(f"{place}: {name!r} is empty; give every row one")
    names = pyarrow.array(ids[1], pyarrow.string())
    judged = trec.judged_of(group_codes("ids", ids[0]), names, values[rows], side == "qrels")
    trec.refuse_repeated(judged, lambda line: table.place_of(rows[line]), MetricFileError)
    return judged, 0 if is_one else len(values) - len(rows)


def _ids_of(table: Table, how: Reading) -> Sequence[str | None]:
    """Return the columns of queries and documents, None where there is none."""
    return how.ids if len(how.ids) == 2 else [_known(table, "query"), _known(table, "document")]


def _known(table: Table, kind: str) -> str | None:
    return next((name for name in NAMES[kind] if name in table), None)
