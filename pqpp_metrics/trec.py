"""TREC run and relevance files: strict readers, and their content as the arrays of the metrics."""

from dataclasses import dataclass, replace

import numpy as np

from pqpp_metrics._columns import Columns, hashes, scrambled
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._categories import category_codes
from pqpp_metrics.functional._groups import group_codes
from pqpp_metrics.functional._inputs import require_choice
from pqpp_metrics.functional._ranked import below

_RUN = "query Q0 document rank score tag"
_QRELS = "query iteration document relevance"
_MISSING = ("error", "zero", "drop")


@dataclass
class Judged:
    """Documents with a value each, one entry a line of a file.

    `query_ids` are the distinct queries in order of first appearance; `queries` the number of
    each line's query; `documents` its document as a byte string; `values` its score or grade.
    `keys` are hashes of query and document in rising order, `order` the line of each.
    """

    query_ids: list[str]
    queries: np.ndarray
    documents: np.ndarray
    values: np.ndarray
    keys: np.ndarray
    order: np.ndarray


@dataclass
class Rankings:
    """A run and its judgments as arrays, one row a query, as the ranking metrics take them.

    `scores` and `relevance` are (queries, documents); a query with fewer documents is filled up
    with documents that are ranked last and not relevant. `unretrieved` are the grades of the
    relevant documents that the run does not hold, filled up with 0.
    """

    query_ids: list[str]
    scores: np.ndarray
    relevance: np.ndarray
    unretrieved: np.ndarray


def read_run(path):
    """Read a run file: query, Q0, document, rank, score, tag, between blanks.

    As in trec_eval the score decides the order; the rank column is not used.

    Args:
        path: The file.

    Returns:
        `Judged`, the values being scores (float64).

    Raises:
        MetricInputError: with file and line: another number of columns, a score that is no
            finite number, a document twice in a query; or an empty file.
    """
    columns = Columns(path, _RUN)
    return _judged(columns, columns.floats(4, "score"))


def read_qrels(path):
    """Read a relevance file: query, iteration, document, relevance, between blanks.

    As in trec_eval a negative relevance (spam, say) is not relevant: 0.

    Args:
        path: The file.

    Returns:
        `Judged`, the values being grades (int64, 0 or above).

    Raises:
        MetricInputError: with file and line: another number of columns, a relevance that is no
            whole number, a document twice in a query; or an empty file.
    """
    columns = Columns(path, _QRELS)
    return _judged(columns, np.maximum(columns.integers(3, "relevance"), 0))


def _judged(columns, values):
    """Documents and values by query, once it is sure that none is there twice."""
    text, documents = columns.text(0), columns.text(2)
    begins = np.ones(len(text), dtype=bool)
    begins[1:] = text[1:] != text[:-1]
    # Queries usually stand together: only the first line of each run of them is looked at.
    heads = [head.decode("utf-8", "replace") for head in text[begins].tolist()]
    query_ids, codes = group_codes("queries", heads)
    queries = codes[np.cumsum(begins) - 1]
    judged = _with_keys(query_ids.tolist(), queries, documents, values)
    again = np.flatnonzero(judged.keys[1:] == judged.keys[:-1])
    if len(again):
        _refuse_repeated(columns, judged, again)
    return judged


def _with_keys(query_ids, queries, documents, values):
    """The parts of `Judged`, with a hash of query and document for every line."""
    of_query = hashes(np.array([query.encode() for query in query_ids]), salt=1)
    keys = scrambled(hashes(documents, salt=0) ^ of_query[queries])
    order = np.argsort(keys)
    return Judged(query_ids, queries, documents, values, keys[order], order)


def _refuse_repeated(columns, judged, again):
    """Raise for the first line whose query and document stood on an earlier one."""
    first, second = judged.order[again], judged.order[again + 1]
    same = judged.queries[first] == judged.queries[second]
    same &= judged.documents[first] == judged.documents[second]
    if not same.all():
        raise MetricInputError(f"two documents of {columns.path} have the same 64-bit hash")
    line = int(np.maximum(first, second).min())
    document = judged.documents[line].decode("utf-8", "replace")
    query = judged.query_ids[judged.queries[line]]
    raise columns.error(line + 1, f"document {document} is there twice in query {query}")


def rankings(run, qrels, missing="error"):
    """Bring a run and relevance judgments together, one row a query, as arrays.

    A retrieved document without a judgment is not relevant.

    Args:
        run: What `read_run` returned.
        qrels: What `read_qrels` returned.
        missing: What a query does that only one side has. "error" (default) refuses it; "zero"
            keeps a judged query that the run misses, with nothing retrieved (every metric gives
            0), and leaves out a query without judgments; "drop" leaves out both, as pytrec_eval
            does silently.

    Returns:
        `Rankings`, in the order of the judgments.

    Raises:
        MetricInputError: queries on one side only with "error", or no query in common.
    """
    require_choice("missing", missing, _MISSING)
    in_run, judged = set(run.query_ids), set(qrels.query_ids)
    if missing == "error":
        _refuse_one_sided(in_run, judged)
    if not in_run & judged:
        raise MetricInputError("the run and the judgments have no query in common")
    kept = [query for query in qrels.query_ids if query in in_run or missing == "zero"]
    rows = dict(zip(kept, range(len(kept)), strict=True))
    run, qrels = _in_rows(run, rows), _in_rows(qrels, rows)
    relevance = _grades_of(run, qrels)
    place = _place_in_row(run.queries, len(kept))
    width = int(place.max()) + 1
    lowest, highest = np.full(len(kept), np.inf), np.full(len(kept), -np.inf)
    np.minimum.at(lowest, run.queries, run.values)
    np.maximum.at(highest, run.queries, run.values)
    some = np.isfinite(lowest)
    # Below every document of the query, so that filling up changes no rank.
    fill = below(np.where(some, lowest, 0.0), np.where(some, highest, 0.0))
    scores = np.repeat(fill[:, None], width, axis=1)
    grades = np.zeros((len(kept), width), dtype=np.int64)
    scores[run.queries, place] = run.values
    grades[run.queries, place] = relevance
    return Rankings(kept, scores, grades, _unretrieved(run, relevance, qrels, len(kept)))


def _in_rows(judged, rows):
    """Lines whose query has a row, with that row in place of the query's number."""
    row_of = np.array([rows.get(query, -1) for query in judged.query_ids])
    queries = row_of[judged.queries]
    keep = queries >= 0
    if keep.all():
        return replace(judged, queries=queries)
    parts = (judged.documents[keep], judged.values[keep])
    left = _with_keys(judged.query_ids, judged.queries[keep], *parts)
    return replace(left, queries=queries[keep])


def _grades_of(run, qrels):
    """The grade of each line of the run, 0 where there is none."""
    # Both in order: the search walks along instead of jumping through memory.
    at = np.minimum(np.searchsorted(qrels.keys, run.keys), len(qrels.keys) - 1)
    found = qrels.keys[at] == run.keys
    lines, matches = run.order[found], qrels.order[at[found]]
    same = run.documents[lines] == qrels.documents[matches]
    if not (same & (run.queries[lines] == qrels.queries[matches])).all():
        raise MetricInputError("two documents of the run and the judgments have the same hash")
    grades = np.zeros(len(run.order), dtype=np.int64)
    grades[lines] = qrels.values[matches]
    return grades


def _place_in_row(queries, rows):
    """The place of each line among those of its query."""
    sizes = np.bincount(queries, minlength=rows)
    starts = np.cumsum(sizes) - sizes
    if (queries[1:] >= queries[:-1]).all():
        return np.arange(len(queries)) - starts[queries]
    order = np.argsort(queries, kind="stable")
    place = np.empty(len(queries), dtype=np.intp)
    place[order] = np.arange(len(queries)) - starts[queries[order]]
    return place


def _unretrieved(run, relevance, qrels, rows):
    """Grades of relevant documents that were not retrieved, (queries, as many as it takes)."""
    (judged, found), grades = category_codes(qrels.values, relevance)
    size = len(grades)
    judged = np.bincount(qrels.queries * size + judged, minlength=rows * size)
    found = np.bincount(run.queries * size + found, minlength=rows * size)
    # A retrieved document without a judgment has grade 0 too: only above it all are judged.
    left = (judged - found).reshape(rows, size)
    left[:, grades == 0] = 0
    queries = np.repeat(np.arange(rows), left.sum(axis=1))
    values = np.repeat(np.tile(grades, rows), left.ravel())
    filled = np.zeros((rows, int(left.sum(axis=1).max())), dtype=np.int64)
    filled[queries, _place_in_row(queries, rows)] = values
    return filled


def _refuse_one_sided(in_run, judged):
    """Raise where a query is in the run or in the judgments only."""
    for only, side, other in (
        (judged - in_run, "judgments", "run"),
        (in_run - judged, "run", "judgments"),
    ):
        if only:
            first = ", ".join(sorted(only)[:3])
            queries = "query" if len(only) == 1 else "queries"
            verb = "is" if len(only) == 1 else "are"
            raise MetricInputError(
                f"{len(only)} {queries} of the {side} {verb} not in the {other} ({first}); "
                "complete the file, or choose missing='zero' or missing='drop'"
            )
