"""Runs and relevance judgments as columns of integer codes, with each name stored once.

Files, tables and dicts are converted to such columns, which are joined by the codes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import Floats, Integers

_Selection: TypeAlias = tuple[Integers, Integers]  # indexes of rows, and the query of each


@dataclass
class RunTable:
    """A run or judgments, one row per document of a query.

    Attributes:
        queries: Names of queries, in order of first appearance.
        query: The index of each row's query.
        values: Scores or grades, finite.
        names: The distinct names of documents as Arrow large strings, and each row's index in them.
        nested: The dict that the rows come from, in place of `names`.
    """

    queries: list[str]
    query: Integers
    values: Floats
    names: tuple[Any, Integers] | None = None
    nested: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @functools.cached_property
    def documents(self) -> tuple[Any, Integers]:
        """The distinct names of documents, and each row's index in them."""
        return self.names or _encode_names([*chain.from_iterable(self.nested.values())])

    def as_nested(self, are_grades: bool = False) -> dict[str, dict[str, float]]:
        """Return the values by query and document; a whole grade as int."""
        nested: dict[str, dict[str, float]] = {query: {} for query in self.queries}
        names, values = self.documents[0].to_pylist(), self.values.tolist()
        if are_grades:
            values = [int(value) if value % 1 == 0 else value for value in values]
        numbers = self.query.tolist(), self.documents[1].tolist()
        for query, document, value in zip(*numbers, values, strict=True):
            nested[self.queries[query]][names[document]] = value
        return nested


def columns_from_nested(side: str, nested: Mapping[str, Mapping[str, float]]) -> RunTable:
    """Convert a dict {query: {document: value}} to columns.

    Raises:
        MetricInputError: Two documents of a query have the same text, such as 1 and "1".
    """
    by_query = nested.values()
    sizes = [len(documents) for documents in by_query]
    query = np.repeat(np.arange(len(nested)), sizes)
    values = np.fromiter(chain.from_iterable(scores.values() for scores in by_query), np.float64)
    if {*map(type, chain(nested, *by_query))} <= {str}:
        return RunTable([*nested], query, values, nested=nested)
    queries = chain.from_iterable(map(repeat, map(str, nested), sizes))
    documents = chain.from_iterable(by_query)
    return encode_rows([*queries], [*documents], values, lambda row: f"`{side}`")


def columns_from_rows(
    rows: Iterable[tuple[str, str, float]], locate: Callable[[int], str]
) -> RunTable:
    """Convert one or more rows (query, document, value) to columns.

    Raises:
        MetricInputError: As `encode_rows`.
    """
    queries, documents, values = zip(*rows, strict=True)
    return encode_rows([*queries], [*documents], np.array(values, np.float64), locate)


def encode_rows(
    query_ids: Any, document_ids: Any, values: Floats, locate: Callable[[int], str]
) -> RunTable:
    """Encode queries and documents, as lists of strings or Arrow columns, as integers.

    Args:
        locate: Returns the location of a row.

    Raises:
        MetricInputError: A document appears twice in a query.
    """
    (queries, query), (documents, document) = map(_encode_names, (query_ids, document_ids))
    keys = query.astype(np.int64) * len(documents) + document
    if not np.diff(np.sort(keys, kind="stable")).all():
        firsts = np.unique(keys, return_index=True)[1]
        row = int(np.setdiff1d(np.arange(len(keys)), firsts)[0])
        fault = f"document {documents[document[row]]} appears twice in query {queries[query[row]]}"
        raise MetricInputError(f"{locate(row)}: {fault}; remove one of the rows")
    return RunTable(queries.to_pylist(), query, values, (documents, document))


def _encode_names(names: Any) -> tuple[Any, Integers]:
    if isinstance(names, list):
        try:
            texts = pa.array(names, pa.large_string())
        except (TypeError, UnicodeEncodeError, pa.ArrowInvalid):  # numbers, or halves of surrogates
            texts = None
        if texts is None or texts.null_count:
            strings = (str(name).encode("utf-8", "backslashreplace").decode() for name in names)
            texts = pa.array(strings, pa.large_string())
        names = texts
    encoded = names.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary.cast(pa.large_string()), encoded.indices.to_numpy()


def columns_from_text(
    text: bytes, names: list[str], value: str, bound: float, locate: Callable[[int], str]
) -> RunTable | None:
    """Parse all lines of space-separated words at once.

    Args:
        names: The names of a line's words, including `query` and `document`.
        value: The one of `names` that is a number.
        bound: Exclusive upper bound of the number's absolute value.
        locate: As for `encode_rows`.

    Returns:
        The columns; None if a line has another form.
    """
    if b"\r" in text:  # a line break for pyarrow, but whitespace when read line by line
        return None
    types = {"query": pa.string(), "document": pa.string(), value: pa.float64()}
    reading = csv.ReadOptions(column_names=names, block_size=1 << 22)
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False)
    converting = csv.ConvertOptions(column_types=types, include_columns=[*types], null_values=[])
    try:
        table = csv.read_csv(pa.BufferReader(text), reading, parsing, converting)
    except pa.ArrowInvalid:
        return None
    queries, documents, values = table["query"], table["document"], table[value].to_numpy()
    # If each word is followed by exactly one space, no word is empty or broken.
    blank = np.frombuffer(text, np.uint8) <= ord(" ")
    missing_spaces = len(names) * len(values) - np.count_nonzero(blank)
    is_tidy = 0 <= missing_spaces <= 1 and not blank[0] and not (blank[1:] & blank[:-1]).any()
    has_comments = compute.any(compute.starts_with(queries, pattern="#")).as_py()
    if has_comments or not is_tidy or not (np.abs(values) < bound).all():
        return None
    return encode_rows(queries, documents, values, locate)


def tidy_whitespace(text: bytes) -> bytes:
    """Reduce whitespace between words to one space; remove it around lines, and empty lines."""
    lines = (b" ".join(line.split()) for line in text.split(b"\n"))
    return b"\n".join(filter(None, lines))


def columns_from_table(
    table: Any, names: list[str | None], locate: Callable[[int], str]
) -> RunTable | None:
    """Convert an in-memory table of queries, documents and values to columns.

    Returns:
        The columns; None if a column is missing, a name is missing, empty or neither text nor an
        integer, or a value is not a finite number.
    """
    try:
        columns = [table[name] for name in names]
        columns = [c.to_arrow() if hasattr(c, "to_arrow") else c for c in columns]
        columns = [c if isinstance(c, pa.ChunkedArray) else pa.array(c) for c in columns]
        values = np.asarray(columns.pop()).astype(np.float64)
        if any(pa.types.is_floating(column.type) for column in columns):
            return None
        ids = [column.cast(pa.large_string()) for column in columns]
    except (pa.ArrowException, LookupError, TypeError, ValueError):
        return None
    lengths = [compute.min(compute.binary_length(c)).as_py() or 0 for c in ids if not c.null_count]
    if len(lengths) < 2 or not min(lengths) or not np.isfinite(values).all():
        return None
    return encode_rows(ids[0], ids[1], values, locate)


def join_grades(
    run: RunTable, judgments: RunTable, queries: list[str]
) -> tuple[Integers, Integers, Floats, Integers, Floats]:
    """Find the grade of each document of a run.

    Returns:
        The rows of the run for these queries, sorted by query; the index of each row's query; its
        grade, NaN if missing; and, for each judged document outside the run, the index of its query
        and its grade, sorted by query.
    """
    index = dict(zip(queries, range(len(queries)), strict=True))
    run_ids, judged_ids = (
        np.array([index.get(query, -1) for query in side.queries], np.int64)[side.query]
        for side in (run, judgments)
    )
    rows = np.argsort(run_ids, kind="stable")[np.count_nonzero(run_ids < 0) :]
    run_ids = run_ids[rows]
    order = np.argsort(judged_ids, kind="stable")[np.count_nonzero(judged_ids < 0) :]
    if not (run.nested and judgments.nested):
        grades, outside = _find_grades(run, judgments, (rows, run_ids), (order, judged_ids[order]))
    else:
        pairs = [(judgments.nested[query], run.nested.get(query, {})) for query in queries]
        looked_up = (map(graded.get, names, repeat(np.nan)) for graded, names in pairs)
        grades = np.fromiter(chain.from_iterable(looked_up), np.float64, len(rows))
        outside = np.zeros(len(order), dtype=bool)
        if np.count_nonzero(grades == grades) < len(order):
            outside[:] = [name not in names for graded, names in pairs for name in graded]
    rest = order[outside]
    return rows, run_ids, grades, judged_ids[rest], judgments.values[rest]


def _find_grades(
    run: RunTable, judgments: RunTable, of_run: _Selection, of_judgments: _Selection
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the grade of each document of a run, and whether the run misses a judged document."""
    (rows, queries), (order, judged) = of_run, of_judgments
    (names, documents), (graded, judged_documents) = run.documents, judgments.documents
    codes = compute.index_in(names, value_set=graded).fill_null(-1).to_numpy()[documents[rows]]
    shared = np.flatnonzero(codes >= 0)
    keys = judged * len(graded) + judged_documents[order]
    by_key = np.argsort(keys, kind="stable")
    keys = keys[by_key]
    run_keys = queries[shared] * len(graded) + codes[shared]
    positions = np.searchsorted(keys, run_keys)
    hits = keys[np.minimum(positions, len(keys) - 1)] == run_keys
    rows_hit = by_key[positions[hits]]
    grades, is_outside = np.full(len(rows), np.nan), np.ones(len(order), dtype=bool)
    grades[shared[hits]], is_outside[rows_hit] = judgments.values[order[rows_hit]], False
    return grades, is_outside
