"""TREC runs and relevance files, read strictly and brought together as the arrays of metrics."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError, UnjudgedWarning
from pqpp_metrics.functional._categories import Encoded
from pqpp_metrics.functional._containers import Floats, Integers, Values
from pqpp_metrics.functional._inputs import require_choice
from pqpp_metrics.functional._rankings.document_names import (
    Keys,
    are_same,
    hashes_of,
    line_keys,
    places_of,
)
from pqpp_metrics.functional._rankings.order import below
from pqpp_metrics.trec_lines import QRELS_LINE, RUN_LINE, read_trec_columns

_MISSING = ("error", "zero", "drop")


@dataclass
class Judged:
    """Documents with a value each, one entry a line of a file.

    `query_ids` are the distinct ids in order of first appearance and `queries` the number of each
    line's; `names` (a pyarrow array of bytes) the name of its document, `values` its score or
    grade. `lines` are their numbers in the file where it has others, like comments, too; else None.
    `negative` tells, in judgments, lines with a relevance below 0.
    """

    query_ids: list[str]
    queries: np.ndarray
    names: Any
    values: np.ndarray
    lines: list[int] | None = None
    negative: np.ndarray | None = None

    @functools.cached_property
    def hashes(self) -> Keys:
        """A hash of each line's name."""
        return hashes_of(self.names)

    @functools.cached_property
    def _encoded(self) -> Any:
        return self.names.dictionary_encode()

    @property
    def document_ids(self) -> Any:
        """The distinct names in order of first appearance, a pyarrow array of bytes."""
        return self._encoded.dictionary

    @property
    def documents(self) -> Integers:
        """The number of each line's name among these."""
        return np.from_dlpack(self._encoded.indices).astype(np.intp)


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
    judged = Judged(ids, np.from_dlpack(queries.indices), documents, values, lines)
    refuse_repeated(judged, lambda at: f"{name}, line {at + 1 if lines is None else lines[at]}")
    return judged


def judged_of(queries: Encoded, names: Any, values: Values, are_grades: bool) -> Judged:
    """Bring a table with a row for each document into the form of a TREC file.

    Args:
        queries: The query of each row.
        names: The name of its document, a pyarrow array of text.
        values: Scores, or relevance if they `are_grades`, of which one below 0 is 0.
        are_grades: See there.
    """
    import pyarrow

    values = np.asarray(values, dtype=np.float64)
    values = whole_or_not(values) if are_grades else values
    names = names.cast(pyarrow.binary())
    names = getattr(names, "combine_chunks", lambda: names)()
    judged = Judged(queries.distinct.tolist(), queries.codes, names, values)
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
    keys = np.sort(line_keys(judged.queries, judged.hashes))
    if not (keys[1:] == keys[:-1]).any():
        return
    numbers = judged.queries.astype(np.int64) * len(judged.document_ids) + judged.documents
    order = np.argsort(numbers, kind="stable")
    repeated = order[1:][numbers[order[1:]] == numbers[order[:-1]]]
    if not len(repeated):
        return
    line = int(repeated.min())
    document = judged.names[line].as_py().decode("utf-8", "replace")
    twice = f"document {document} is there twice in query {judged.query_ids[judged.queries[line]]}"
    raise error(f"{place_of(line)}: {twice}; keep one")


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
    queries, lines = _in_rows(run, rows)
    judged, judgments = _in_rows(qrels, rows)
    values, grades = run.values[lines], qrels.values[judgments]
    nothing: float = 0
    if keep_unjudged:
        negative = False if qrels.negative is None else qrels.negative[judgments]
        grades, nothing = np.where(negative, -1.0, grades), np.nan
    places = _retrieved(run, qrels, (queries, lines), (judged, judgments))
    used = places >= 0
    relevance = np.full(len(values), nothing, dtype=np.result_type(grades, type(nothing)))
    relevance[places[used]] = grades[used]

    def document_numbers(some):
        (table,) = by_query(queries, len(kept), (np.arange(1, len(queries) + 1), 0))
        places = table[some]
        names = run.names.take(np.arange(len(run.names))[lines][places[places > 0] - 1]).to_pylist()
        number = {name: place for place, name in enumerate(sorted(set(names)), 1)}
        places[places > 0] = [number[name] for name in names]
        return places

    left = judged[~used], grades[~used]
    return filled_up(kept, (queries, values, relevance), left, keep_unjudged, document_numbers)


def _in_rows(judged, rows):
    """Which lines are of a query that has a row, and the row of each."""
    row_of = np.array([rows.get(query, -1) for query in judged.query_ids])
    queries = row_of[judged.queries]
    lines = slice(None) if (row_of >= 0).all() else np.flatnonzero(queries >= 0)
    return queries[lines], lines


def _retrieved(run, qrels, documents, judgments):
    """Where the document of each judgment stands among those of a run, -1 where it does not.

    Both are given by the row and the line of each.
    """
    sides = (run, *documents), (qrels, *judgments)
    keys = [line_keys(rows, side.hashes[lines]) for side, rows, lines in sides]
    places = places_of(keys[1], keys[0])
    if places is not None:
        retrieved = np.flatnonzero(places >= 0)
        at, own = (np.arange(len(side.names))[lines] for side, _, lines in sides)
        if are_same(run.names, at[places[retrieved]], qrels.names, own[retrieved]):
            return places
    # Names with one hash: all are numbered.
    import pyarrow

    number = pyarrow.concat_arrays([run.names, qrels.names]).dictionary_encode()
    codes = np.split(np.from_dlpack(number.indices).astype(np.int64), [len(run.names)])
    among, wanted = (
        rows * len(number.dictionary) + numbers[lines]
        for numbers, (_, rows, lines) in zip(codes, sides, strict=True)
    )
    order = np.argsort(among)
    places = order[np.minimum(np.searchsorted(among, wanted, sorter=order), len(among) - 1)]
    return np.where(among[places] == wanted, places, -1)


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
    tables = [np.full(shape, fill, dtype=values.dtype) for values, fill in columns]
    for table, (values, _) in zip(tables, columns, strict=True):
        table[places] = values[order]
    return tables


def _refuse_one_sided(in_run, judged):
    """Raise where a query is in the run or in the judgments only."""
    sides = [(judged - in_run, "judgments", "run"), (in_run - judged, "run", "judgments")]
    for only, side, other in sides:
        if only:
            queries, are = ("query", "is") if len(only) == 1 else ("queries", "are")
            came = f"{len(only)} {queries} of the {side} {are} not in the {other}"
            remedy = "complete the file, or choose `missing` zero or `missing` drop"
            raise MetricInputError(f"{came} ({', '.join(sorted(only)[:3])}); {remedy}")
