"""A run or relevance judgments as columns, in which each name stands once.

Files, tables and dicts all become such columns, and two of them are joined by numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import Floats, Integers


@dataclass
class Columns:
    """A run or judgments, a row for each document of a query.

    Attributes:
        queries: The names, by first appearance.
        query: The number of the query of each row.
        documents: The names, large strings of Arrow.
        document: The number of the document of each row.
        values: Scores or grades, finite.
    """

    queries: list[str]
    query: Integers
    documents: Any
    document: Integers
    values: Floats

    def nested(self, are_grades: bool = False) -> dict[str, dict[str, float]]:
        """Return the values by query and document; a whole grade as int."""
        nested: dict[str, dict[str, float]] = {query: {} for query in self.queries}
        names, values = self.documents.to_pylist(), self.values.tolist()
        if are_grades:
            values = [int(value) if value % 1 == 0 else value for value in values]
        numbers = self.query.tolist(), self.document.tolist()
        for query, document, value in zip(*numbers, values, strict=True):
            nested[self.queries[query]][names[document]] = value
        return nested


def columns_of_nested(held: Mapping[str, Mapping[str, float]]) -> Columns:
    """Bring a dict of query to dict of document to value into columns."""
    sizes = [len(own) for own in held.values()]
    chain = itertools.chain.from_iterable
    values = np.fromiter(chain(own.values() for own in held.values()), np.float64)
    query = np.repeat(np.arange(len(sizes)), sizes)
    return Columns([*held], query, *_number_names([*chain(held.values())]), values)


def columns_of_rows(
    rows: Iterable[tuple[str, str, float]], place_of: Callable[[int], str]
) -> Columns:
    """Bring rows of query, document and value, at least one, into columns.

    Raises:
        MetricInputError: As `encode`.
    """
    queries, documents, values = zip(*rows, strict=True)
    return encode([*queries], [*documents], np.array(values, np.float64), place_of)


def encode(
    query_ids: Any, document_ids: Any, values: Floats, place_of: Callable[[int], str]
) -> Columns:
    """Number the names of queries and documents, lists of text or columns of Arrow.

    Args:
        place_of: Says where a row stands.

    Raises:
        MetricInputError: A document is twice in a query.
    """
    (queries, query), (documents, document) = map(_number_names, (query_ids, document_ids))
    keys = query.astype(np.int64) * len(documents) + document
    if not np.diff(np.sort(keys)).all():
        firsts = np.unique(keys, return_index=True)[1]
        row = int(np.setdiff1d(np.arange(len(keys)), firsts)[0])
        twice = f"document {documents[document[row]]} is twice in query {queries[query[row]]}"
        raise MetricInputError(f"{place_of(row)}: {twice}; remove one")
    return Columns(queries.to_pylist(), query, documents, document, values)


def _number_names(names: Any) -> tuple[Any, Integers]:
    import pyarrow as pa

    if isinstance(names, list):
        try:
            texts = pa.array(names, pa.large_string())
        except (TypeError, UnicodeEncodeError, pa.ArrowInvalid):  # numbers, or halves of surrogates
            texts = None
        if texts is None or texts.null_count:
            whole = (str(name).encode("utf-8", "backslashreplace").decode() for name in names)
            texts = pa.array(whole, pa.large_string())
        names = texts
    encoded = names.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary.cast(pa.large_string()), encoded.indices.to_numpy()


def columns_of_text(
    text: bytes, names: list[str], value: str, most: float, place_of: Callable[[int], str]
) -> Columns | None:
    """Read lines of words between blanks, all at once.

    Args:
        names: What the words of a line are called, `query` and `document` among them.
        value: Which of them is the number.
        most: What its size is below.
        place_of: As for `encode`.

    Returns:
        The columns; None if a line has other words, which one that reads them singly can name.
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    if b"\r" in text:  # ends a line here, but is a blank to those who read line by line
        return None
    kinds = {"query": pa.string(), "document": pa.string(), value: pa.float64()}
    reading = csv.ReadOptions(column_names=names, block_size=1 << 22)
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False)
    kept = csv.ConvertOptions(column_types=kinds, include_columns=[*kinds], null_values=[])
    try:
        table = csv.read_csv(pa.BufferReader(text), reading, parsing, kept)
    except pa.ArrowInvalid:
        return None
    queries, documents, values = table["query"], table["document"], table[value].to_numpy()
    # With one blank behind each word, and no other, a line has no empty or broken words.
    blank = np.frombuffer(text, np.uint8) <= ord(" ")
    lacking = len(names) * len(values) - np.count_nonzero(blank)
    is_tidy = 0 <= lacking <= 1 and not blank[0] and not (blank[1:] & blank[:-1]).any()
    has_notes = compute.any(compute.starts_with(queries, pattern="#")).as_py()
    if has_notes or not is_tidy or not (np.abs(values) < most).all():
        return None
    return encode(queries, documents, values, place_of)


def tidy_blanks(text: bytes) -> bytes:
    """Leave one blank between words and none around lines; no empty lines."""
    text = text.translate(bytes.maketrans(b"\t\r\v\f", b"    ")).strip()
    for pair in (b"  ", b" \n", b"\n ", b"\n\n"):
        while pair in text:
            text = text.replace(pair, b"\n" if b"\n" in pair else b" ")
    return text


def columns_of_table(
    held: Any, names: list[str | None], place_of: Callable[[int], str]
) -> Columns | None:
    """Bring columns of queries, documents and values of a table in memory into columns.

    Returns:
        None if a column is not there, or a name is missing, empty or neither text nor an integer,
        or a value is not a finite number.
    """
    import pyarrow as pa
    from pyarrow import compute

    try:
        columns = [held[name] for name in names]
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
    return encode(ids[0], ids[1], values, place_of)


def join(
    run: Columns, judgments: Columns, kept: list[str]
) -> tuple[Integers, Integers, Floats, Integers, Floats]:
    """Find the grade of each document of a run.

    Args:
        kept: The queries that count.

    Returns:
        The rows of the run that count, by query, and otherwise as they were; the place of the query
        of each in `kept`; the grade of each, NaN without one; and the places and grades of judged
        documents that the run does not have, by query.
    """
    from pyarrow import compute

    place_of = dict(zip(kept, range(len(kept)), strict=True))
    places, judged = (
        np.array([place_of.get(query, -1) for query in side.queries], np.int64)[side.query]
        for side in (run, judgments)
    )
    rows = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
    places = places[rows]
    number = len(judgments.documents)
    same = compute.index_in(run.documents, value_set=judgments.documents).fill_null(-1)
    documents = same.to_numpy()[run.document[rows]]
    shared = np.flatnonzero(documents >= 0)
    keys = judged * number + judgments.document
    order = np.argsort(keys)[np.count_nonzero(judged < 0) :]
    keys = keys[order]
    wanted = places[shared] * number + documents[shared]
    found = np.searchsorted(keys, wanted)
    hits = keys[np.minimum(found, len(keys) - 1)] == wanted
    grades, is_left = np.full(len(rows), np.nan), np.ones(len(keys), dtype=bool)
    grades[shared[hits]] = judgments.values[order[found[hits]]]
    is_left[found[hits]] = False
    return rows, places, grades, judged[order][is_left], judgments.values[order[is_left]]
