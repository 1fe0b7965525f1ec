"""TREC runs and relevance files, read strictly and brought together as the arrays of metrics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError, UnjudgedWarning
from pqpp_metrics.functional._categories import Encoded
from pqpp_metrics.functional._containers import Floats, Integers, Values
from pqpp_metrics.functional._inputs import require_choice
from pqpp_metrics.functional._rankings.order import below
from pqpp_metrics.trec_lines import QRELS_LINE, RUN_LINE, read_trec_columns

_MISSING = ("error", "zero", "drop")
_DENSE = 16  # entries of a table a key, up to which it is quicker than sorting


@dataclass
class Judged:
    """Documents with a value each, one entry a line of a file.

    `query_ids` and `document_ids` (a pyarrow array of bytes) are the distinct ids in order of first
    appearance; `queries` and `documents` the number of each line's; `values` its score or grade.
    `lines` are their numbers in the file where it has others, like comments, too; else None.
    `negative` tells, in judgments, lines with a relevance below 0.
    """

    query_ids: list[str]
    queries: np.ndarray
    document_ids: Any
    documents: np.ndarray
    values: np.ndarray
    lines: list[int] | None = None
    negative: np.ndarray | None = None


@dataclass
class Rankings:
    """A run and its judgments as arrays, one row a query, as the ranking metrics take them.

    `scores` and `relevance` are (queries, documents); a query with fewer documents is filled up
    with documents that are ranked last and not relevant. `unretrieved` are the grades of the
    relevant documents that the run does not hold, filled up with 0. `sizes` are the numbers of
    documents that the run has; `document_numbers` gives, for some rows, a number for each document,
    higher for a higher name byte by byte, where 0 fills up.
    """

    query_ids: list[str]
    scores: np.ndarray
    relevance: np.ndarray
    unretrieved: np.ndarray
    sizes: np.ndarray
    document_numbers: Callable[[Any], NDArray[np.int64]]

    @property
    def document_ids(self) -> NDArray[np.int64]:
        """What `document_numbers` gives for all queries."""
        return self.document_numbers(np.arange(len(self.query_ids)))


def read_run(path: str | Path) -> Judged:
    r"""Read a run file: query, Q0, document, rank, score, tag, between blanks.

    As in trec_eval the score decides the order, and the rank column is not used; words behind the
    tag are passed over, and so are blank lines and those that begin with #.

    Args:
        path: The file, also packed by gzip; `-` is standard input.

    Returns:
        `Judged`, the values being scores (float64).

    Raises:
        MetricInputError: with file and line: too few columns, a score that is no
            finite number, a document twice in a query; or no file, or an empty one.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> run, qrels = folder / "run", folder / "qrels"
        >>> _ = run.write_text("q1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.8 me\n")
        >>> _ = qrels.write_text("q1 0 b 1\n")
        >>> read_run(run).values.tolist()
        [0.9, 0.8]
    """
    return _read(path, RUN_LINE, "score", float)


def read_qrels(path: str | Path) -> Judged:
    r"""Read a relevance file: query, iteration, document, relevance, between blanks.

    As in trec_eval a negative relevance (spam, say) is not relevant: 0; lines that begin with # are
    passed over, and so are blank ones.

    Args:
        path: The file, also packed by gzip; `-` is standard input.

    Returns:
        `Judged`, the values being grades (int64, 0 or above).

    Raises:
        MetricInputError: with file and line: another number of columns, a relevance that is no
            whole number, a document twice in a query; or no file, or an empty one.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> run, qrels = folder / "run", folder / "qrels"
        >>> _ = run.write_text("q1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.8 me\n")
        >>> _ = qrels.write_text("q1 0 b 1\n")
        >>> judged = read_qrels(qrels)
        >>> judged.query_ids, judged.values.tolist()
        (['q1'], [1])
    """
    return _with_negative_apart(_read(path, QRELS_LINE, "relevance", int))


def _with_negative_apart(judged):
    judged.negative = judged.values < 0
    judged.values = np.maximum(judged.values, 0)
    return judged


def _read(path, names, value, kind):
    """Read the columns query, document and `value` of a file."""
    queries, documents, values, lines, name = read_trec_columns(path, names, value, kind)
    ids = [query.decode("utf-8", "replace") for query in queries.dictionary.to_pylist()]
    numbers, of_documents = np.from_dlpack(queries.indices), np.from_dlpack(documents.indices)
    judged = Judged(ids, numbers, documents.dictionary, of_documents, values, lines)
    refuse_repeated(judged, lambda at: f"{name}, line {at + 1 if lines is None else lines[at]}")
    return judged


def judged_of(queries: Encoded, documents: Encoded, values: Values, are_grades: bool) -> Judged:
    """Bring a table with a row for each document into the form of a TREC file.

    Values are scores, or relevance if they `are_grades`, of which one below 0 is 0.
    """
    import pyarrow

    names = pyarrow.array(documents.distinct, pyarrow.string()).cast(pyarrow.binary())
    values = np.asarray(values, dtype=np.float64)
    values = whole_or_not(values) if are_grades else values
    judged = Judged(queries.distinct.tolist(), queries.codes, names, documents.codes, values)
    return _with_negative_apart(judged) if are_grades else judged


def whole_or_not(grades: Floats) -> NDArray[Any]:
    """Grades as whole numbers, where all of them are."""
    whole = grades.astype(np.int64)
    return whole if (whole == grades).all() else grades


def refuse_repeated(
    judged: Judged, place_of: Callable[[int], str], error: type[Exception] = MetricInputError
) -> None:
    """Raise for a line whose query and document stood on an earlier one.

    Args:
        judged: What was read.
        place_of: From the number of a line, from 0, to how a person finds it.
        error: What is raised.
    """
    keys = _keys(judged.queries, judged.documents, len(judged.document_ids))
    if _are_distinct(keys, len(judged.query_ids) * len(judged.document_ids)):
        return
    order = np.argsort(keys, kind="stable")
    line = int(order[1:][keys[order[1:]] == keys[order[:-1]]].min())
    document = judged.document_ids[judged.documents[line]].as_py().decode("utf-8", "replace")
    twice = f"document {document} is there twice in query {judged.query_ids[judged.queries[line]]}"
    raise error(f"{place_of(line)}: {twice}; keep one")


def _are_distinct(keys, size):
    """Whether no key, below `size`, is there twice."""
    if _is_dense(size, keys):
        seen = np.zeros(size, dtype=bool)
        seen[keys] = True
        return np.count_nonzero(seen) == len(keys)
    ordered = np.sort(keys)
    return not (ordered[1:] == ordered[:-1]).any()


def _keys(queries, documents, number):
    """One whole number for each query and document."""
    return queries.astype(np.int64) * number + documents


def _is_dense(size, keys):
    """Whether a table of that size is quicker than sorting the keys."""
    return size <= _DENSE * max(len(keys), 1 << 16)


def rankings(
    run: Judged, qrels: Judged, missing: str = "error", keep_unjudged: bool = False
) -> Rankings:
    r"""Bring a run and relevance judgments together, one row a query, as arrays.

    A retrieved document without a judgment is not relevant.

    Args:
        run: What `read_run` returned.
        qrels: What `read_qrels` returned.
        missing: What a query does that only one side has. "error" (default) refuses it; "zero"
            keeps a judged query that the run misses, with nothing retrieved (every metric gives
            0), and leaves out a query without judgments, with an `UnjudgedWarning` that names
            some; "drop" leaves out both, as pytrec_eval does silently.
        keep_unjudged: Whether documents without a judgment are NaN, and those with a negative one
            -1, as `functional.incomplete_judgments` takes them. `unretrieved` then holds 0 for what
            was judged irrelevant, and NaN fills up.

    Returns:
        `Rankings`, in the order of the judgments.

    Raises:
        MetricInputError: queries on one side only with "error", or no query in common.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> run, qrels = folder / "run", folder / "qrels"
        >>> _ = run.write_text("q1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.8 me\n")
        >>> _ = qrels.write_text("q1 0 b 1\n")
        >>> found = rankings(read_run(run), read_qrels(qrels))
        >>> found.scores.tolist(), found.relevance.tolist()
        ([[0.9, 0.8]], [[0, 1]])
    """
    kept = kept_queries(run.query_ids, qrels.query_ids, missing)
    rows = dict(zip(kept, range(len(kept)), strict=True))
    queries, documents, values = _in_rows(run, rows, run.documents)
    nothing: float = 0
    if keep_unjudged:
        negative = False if qrels.negative is None else qrels.negative
        qrels, nothing = replace(qrels, values=np.where(negative, -1.0, qrels.values)), np.nan
    judged, numbers, grades = _in_rows(qrels, rows, _numbers_in(run, qrels))
    number = len(run.document_ids)
    keys, places = _keys(queries, documents, number), _keys(judged, numbers, number)
    places = np.where(numbers < 0, -1, places)
    relevance, used = _grades_of(keys, places, grades, len(kept) * number, nothing)
    left = judged[~used], grades[~used]
    (table,) = by_query(queries, len(kept), (documents + 1, 0))

    def document_numbers(some):
        numbers = table[some]
        used = np.unique(numbers[numbers > 0])
        names = run.document_ids.take(used - 1).to_pylist()
        places = np.zeros(number + 1, dtype=np.int64)
        places[used[sorted(range(len(names)), key=names.__getitem__)]] = np.arange(len(names)) + 1
        return places[numbers]

    return filled_up(kept, (queries, values, relevance), left, keep_unjudged, document_numbers)


def kept_queries(run: Collection[str], qrels: Collection[str], missing: str) -> list[str]:
    """The queries that count, in the order of the judgments, as `rankings` says of `missing`."""
    require_choice("missing", missing, _MISSING)
    in_run, judged = set(run), set(qrels)
    if missing == "error":
        _refuse_one_sided(in_run, judged)
    if not in_run & judged:
        raise MetricInputError("the run and the judgments have no query in common")
    if missing == "zero" and (only := in_run - judged):
        queries = "1 query" if len(only) == 1 else f"{len(only):,} queries"
        shown = ", ".join(sorted(only)[:3])
        warnings.warn(
            f"{queries} of the run without judgments left out ({shown})", UnjudgedWarning, 3
        )
    return [query for query in qrels if query in in_run or missing == "zero"]


def filled_up(
    kept: list[str],
    retrieved: tuple[Integers, Floats, NDArray[Any]],
    left: tuple[Integers, NDArray[Any]],
    keep_unjudged: bool,
    document_numbers: Callable[[Any], NDArray[np.int64]],
) -> Rankings:
    """Bring documents, a row each, into tables with a row for each query.

    Args:
        kept: The queries.
        retrieved: The query of each document of the run, its score and its grade.
        left: The query and the grade of what was judged and not retrieved.
        keep_unjudged: As of `rankings`.
        document_numbers: As of `Rankings`.
    """
    queries, values, relevance = retrieved
    nothing = np.nan if keep_unjudged else 0
    scores, relevance = by_query(queries, len(kept), (values, np.nan), (relevance, nothing))
    sizes = np.bincount(queries, minlength=len(kept))
    if len(values) < scores.size:
        # Below every document of the query, so that filling up changes no rank.
        lowest = np.where(sizes, np.fmin.reduce(scores, axis=1), 0.0)
        highest = np.where(sizes, np.fmax.reduce(scores, axis=1), 0.0)
        np.copyto(scores, below(lowest, highest)[:, None], where=np.isnan(scores))
    counted = (left[1] >= 0) if keep_unjudged else (left[1] > 0)
    (unretrieved,) = by_query(left[0][counted], len(kept), (left[1][counted], nothing))
    return Rankings(kept, scores, relevance, unretrieved, sizes, document_numbers)


def _in_rows(judged, rows, documents):
    """The row, document and value of the lines whose query has a row."""
    row_of = np.array([rows.get(query, -1) for query in judged.query_ids])
    queries = row_of[judged.queries]
    keep = queries >= 0
    if keep.all():
        return queries, documents, judged.values
    return queries[keep], documents[keep], judged.values[keep]


def _numbers_in(run, qrels):
    """The number that the run gives to the document of each judgment; -1 where it has none."""
    import pyarrow

    both = []
    for names in (run.document_ids, qrels.document_ids):
        places = pyarrow.py_buffer(np.arange(len(names), dtype=np.int32))
        places = pyarrow.Array.from_buffers(pyarrow.int32(), len(names), [None, places])
        both.append(pyarrow.DictionaryArray.from_arrays(places, names))
    number = np.from_dlpack(pyarrow.chunked_array(both).unify_dictionaries().chunk(1).indices)
    return np.where(number < len(run.document_ids), number, -1)[qrels.documents]


def _grades_of(keys, judged, grades, size, nothing):
    """The grade of each line of the run, `nothing` where none is; and which judgments were used.

    `judged` is the key of each judgment, -1 for a document that the run does not hold at all; all
    keys are below `size`.
    """
    if _is_dense(size, keys):
        places = np.full(size + 1, -1, dtype=np.int64)
        places[judged] = np.arange(len(judged))
        places[-1] = -1
        at = places[keys]
        found = at >= 0
        at = at[found]
    else:
        order = np.argsort(judged, kind="stable")
        ordered = judged[order]
        at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
        found = ordered[at] == keys
        at = order[at[found]]
    used = np.zeros(len(judged), dtype=bool)
    used[at] = True
    relevance = np.full(len(keys), nothing, dtype=np.result_type(grades, type(nothing)))
    relevance[found] = grades[at]
    return relevance, used


def by_query(
    rows: Integers, number: int, *columns: tuple[NDArray[Any], float]
) -> list[NDArray[Any]]:
    """Columns of a file as tables with a row for each query, as wide as the longest.

    Args:
        rows: The row of each line.
        number: How many rows there are.
        columns: Values of the lines, each with what fills up rows.
    """
    sizes = np.bincount(rows, minlength=number)
    order: Any = slice(None)
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
    shape = number, int(sizes.max())
    if len(rows) == number * shape[1]:
        return [values[order].reshape(shape) for values, _ in columns]
    places = rows, np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[rows]
    found = [np.full(shape, fill, dtype=values.dtype) for values, fill in columns]
    for table, (values, _) in zip(found, columns, strict=True):
        table[places] = values[order]
    return found


def _refuse_one_sided(in_run, judged):
    """Raise where a query is in the run or in the judgments only."""
    sides = [(judged - in_run, "judgments", "run"), (in_run - judged, "run", "judgments")]
    for only, side, other in sides:
        if only:
            queries, are = ("query", "is") if len(only) == 1 else ("queries", "are")
            came = f"{len(only)} {queries} of the {side} {are} not in the {other}"
            remedy = "complete the file, or choose missing='zero' or missing='drop'"
            raise MetricInputError(f"{came} ({', '.join(sorted(only)[:3])}); {remedy}")
