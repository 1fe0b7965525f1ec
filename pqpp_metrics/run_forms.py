"""Runs and judgments in the containers that people hold, brought together as arrays.

A run is a file as `trec.read_run` reads it; a dict of query to a dict of document to score; a table
of pandas, polars, Arrow or datasets, or a dict of columns, with columns `query_id`, `doc_id` and
`score` (`rel` or `relevance` for judgments) or as `NAMES` has them; or triples of these, as
ir_measures has them.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._categories import Encoded, group_codes, text_codes, text_column
from pqpp_metrics.functional._inputs import as_floats, not_allowed
from pqpp_metrics.trec import (
    Judged,
    Rankings,
    filled_up,
    judged_of,
    kept_queries,
    rankings,
    read_qrels,
    read_run,
    refuse_repeated,
    whole_or_not,
)

RunLike: TypeAlias = (
    str | Path | Mapping[str, Any] | Iterable[tuple[str, str, float]] | Judged | Any
)
"""A run or judgments in any of the forms above, or as they were read."""

NAMES = {
    "query": ("query_id", "query", "qid"),
    "document": ("doc_id", "document_id", "docno", "docid", "doc", "document"),
    "run": ("score", "predictions", "similarity", "sim"),
    "qrels": ("rel", "relevance", "references", "grade", "label"),
}
"""What the columns of a table of runs or judgments are called."""


def brought_together(
    run: RunLike, qrels: RunLike, missing: str = "error", keep_unjudged: bool = False
) -> Rankings:
    """A run and judgments in any of their forms as `trec.rankings` gives them.

    Raises:
        MetricInputError: what cannot be read; queries on one side only.

    Example:
        >>> found = brought_together({"q1": {"a": 0.9, "b": 0.8}}, {"q1": {"b": 1, "c": 2}})
        >>> found.scores.tolist(), found.relevance.tolist(), found.unretrieved.tolist()
        ([[0.9, 0.8]], [[0, 1]], [[2]])
    """
    run, qrels = _by_query(run), _by_query(qrels)
    together = None
    if _is_nested(run) and _is_nested(qrels):
        together = _of_dicts(run, qrels, missing, keep_unjudged)
    return together or rankings(as_run(run), as_qrels(qrels), missing, keep_unjudged)


def as_run(run: RunLike) -> Judged:
    """Return a run in any of its forms as `trec.Judged`.

    Example:
        >>> as_run({"q1": {"a": 0.9, "b": 0.8}}).values.tolist()
        [0.9, 0.8]
    """
    return _as_judged("run", run, read_run)


def as_qrels(qrels: RunLike) -> Judged:
    """Return judgments in any of their forms as `trec.Judged`.

    Example:
        >>> columns = {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "rel": [2, -1]}
        >>> as_qrels(columns).values.tolist()
        [2, 0]
    """
    return _as_judged("qrels", qrels, read_qrels)


def _is_nested(given):
    return isinstance(given, Mapping) and all(isinstance(of, Mapping) for of in given.values())


def _by_query(given):
    """Triples as a dict of dicts, if no document is there twice; all else as it is."""
    if not isinstance(given, (list, tuple)):
        if not hasattr(given, "__next__"):
            return given
        given = list(given)
    by_query: defaultdict[Any, dict[Any, Any]] = defaultdict(dict)
    try:
        for row in given:
            by_query[row[0]][row[1]] = row[2]
    except (TypeError, IndexError, KeyError):
        return given
    return dict(by_query) if given and sum(map(len, by_query.values())) == len(given) else given


def _of_dicts(run, qrels, missing, keep_unjudged):
    """As `rankings`, of dicts of dicts: each document is looked up among its query's judgments.

    None where they hold other things than text and finite numbers, or nothing.
    """
    run, qrels = ({q: of for q, of in side.items() if of} for side in (run, qrels))
    try:
        for ids in (run, qrels, *run.values(), *qrels.values()):
            "".join(ids)  # the quickest way to learn that all are text
    except TypeError:
        return None
    if not run or not qrels:
        return None
    kept = kept_queries(run, qrels, missing)
    documents, judged = [run.get(query, {}) for query in kept], [qrels[query] for query in kept]
    try:
        values = _flat(of.values() for of in documents)
        known = zip(judged, documents, strict=True)
        grades = _flat(map(of.get, own, itertools.repeat(np.nan)) for of, own in known)
        others = ((side, query) for side in (run, qrels) for query in set(side).difference(kept))
        unused = _flat(side[query].values() for side, query in others)
    except (TypeError, ValueError):
        return None
    sizes = np.fromiter(map(len, documents), np.intp, len(kept))
    queries, used = np.repeat(np.arange(len(kept)), sizes), ~np.isnan(grades)
    more = np.bincount(queries, used, len(kept)) < np.fromiter(map(len, judged), np.intp, len(kept))
    rows, left = [], []
    for row in np.flatnonzero(more).tolist():
        own = documents[row]
        missed = [grade for document, grade in judged[row].items() if document not in own]
        rows += [row] * len(missed)
        left += missed
    # Fewer where a judgment is NaN, which is refused elsewhere.
    is_whole = len(left) + np.count_nonzero(used) == sum(map(len, judged))
    grades = np.concatenate([np.where(used, grades, 0), np.array(left, dtype=np.float64)])
    if not is_whole or not np.isfinite(np.concatenate([values, unused, grades])).all():
        return None
    grades = np.where(grades < 0, -1.0, grades) if keep_unjudged else whole_or_not(grades)
    relevance, left = np.split(np.maximum(grades, -1.0 if keep_unjudged else 0), [len(values)])
    if keep_unjudged:
        relevance[~used] = np.nan
    rows, retrieved = np.array(rows, dtype=np.intp), (queries, values, relevance)
    numbers = functools.partial(_numbers_of_names, documents, max(sizes.max(), 1))
    return filled_up(kept, retrieved, (rows, left), keep_unjudged, numbers)


def _numbers_of_names(documents, width, rows):
    """For some rows a number for each document, higher for a higher name; 0 fills up."""
    numbers = np.zeros((len(rows), width), dtype=np.int64)
    for place, row in zip(numbers, rows.tolist(), strict=True):
        names = list(documents[row])
        place[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names)) + 1
    return numbers


def _flat(parts):
    return np.fromiter(itertools.chain.from_iterable(parts), np.float64)


def _as_judged(name, given, read):
    if isinstance(given, Judged):
        return given
    if isinstance(given, (str, os.PathLike)):
        return read(given)
    if _is_nested(given):
        given = [(query, *pair) for query, of in given.items() for pair in of.items()]
        if not given:
            raise MetricInputError(f"`{name}` holds no document; give some, by query")
    queries, documents, values = _columns(name, given)
    try:
        if isinstance(values, list):
            values = np.array(values, dtype=np.float64)
        values = as_floats(name, values, 1, finite=False)
        queries, names = _texts(queries), _names(documents)
        "".join(queries.distinct).encode()
    except (TypeError, ValueError):
        raise MetricInputError(
            f"`{name}` holds ids that are not text, or values that are not numbers"
        ) from None
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        where = f"query {queries.distinct[queries.codes[place]]}, document {names[place]}"
        raise MetricInputError(f"`{name}` holds {values[place]} for {where}; give finite numbers")
    judged = judged_of(queries, names, values, name == "qrels")
    refuse_repeated(judged, lambda line: f"`{name}`")
    return judged


def _columns(name, given):
    """The columns of queries, documents and values of a table, or of triples."""
    columns = list(getattr(given, "column_names", getattr(given, "columns", ())))
    columns = columns or (list(given) if isinstance(given, Mapping) else [])
    if columns:
        kinds = "query", "document", name
        chosen = [next((n for n in NAMES[kind] if n in columns), None) for kind in kinds]
        if None in chosen:
            kind = kinds[chosen.index(None)]
            came = f"`{name}` has the columns {', '.join(map(str, columns))[:200]}"
            raise MetricInputError(f"{came}; one must be called {' or '.join(NAMES[kind])}")
        return [given[column] for column in chosen]
    try:
        queries, documents, values = zip(*(tuple(row)[:3] for row in given), strict=True)
        return [list(queries), list(documents), list(values)]
    except (TypeError, ValueError):
        wanted = "give a file, a table, a dict of query to dict of document to value, or triples"
        raise not_allowed(name, given, wanted) from None


def _texts(column):
    """A column of ids as encoded text; numbers as they are written."""
    if codes := text_codes(column):
        return codes
    if not isinstance(column, list):
        codes = group_codes("ids", column)
        return Encoded(np.array(list(map(str, codes.distinct.tolist())), dtype=object), codes.codes)
    return text_codes(list(map(str, column)))


def _names(column):
    """A column of ids as text of pyarrow, see `_texts`."""
    import pyarrow

    texts = text_column(column)
    if texts is None:
        ids = _texts(column)
        texts = pyarrow.array(ids.distinct, pyarrow.string()).take(ids.codes)
    return texts
