"""TREC run and relevance files: strict readers, and their content as the arrays of the metrics."""

import codecs
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import require_choice
from pqpp_metrics.functional._ranked import below

_RUN = "query Q0 document rank score tag"
_QRELS = "query iteration document relevance"
_MISSING = ("error", "zero", "drop")
# As in trec_eval every control character stands for a blank.
_BLANKS = bytes(32 if byte <= 32 and byte != 10 else byte for byte in range(256))


@dataclass
class Judged:
    """Documents with a value each, one entry a line of a file.

    `query_ids` and `document_ids` (a pyarrow array of bytes) are the distinct ids in order of first
    appearance; `queries` and `documents` the number of each line's; `values` its score or grade.
    """

    query_ids: list[str]
    queries: np.ndarray
    document_ids: object
    documents: np.ndarray
    values: np.ndarray


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

    Returns:
        `Judged`, the values being scores (float64).

    Raises:
        MetricInputError: with file and line: another number of columns, a score that is no
            finite number, a document twice in a query; or no file, or an empty one.
    """
    return _read(path, _RUN, "score", float)


def read_qrels(path):
    """Read a relevance file: query, iteration, document, relevance, between blanks.

    As in trec_eval a negative relevance (spam, say) is not relevant: 0.

    Returns:
        `Judged`, the values being grades (int64, 0 or above).

    Raises:
        MetricInputError: with file and line: another number of columns, a relevance that is no
            whole number, a document twice in a query; or no file, or an empty one.
    """
    judged = _read(path, _QRELS, "relevance", int)
    judged.values = np.maximum(judged.values, 0)
    return judged


def _read(path, names, value, kind):
    """Read the columns query, document and `value` of a file."""
    import pyarrow

    path = Path(path)
    if not path.is_file():
        raise MetricInputError(f"{path}: there is no such file; check its name")
    text = path.read_bytes().removeprefix(codecs.BOM_UTF8).translate(_BLANKS).rstrip()
    if not text:
        raise MetricInputError(f"{path} is empty; a line is '{names}'")
    head = b"\n" + text[:4096]
    if b"  " in text or b" \n" in head or b"\n " in head:  # elsewhere they are too many columns
        text = _with_single_blanks(text)
    try:
        queries, documents, values = _parsed(text, names, value, kind)
        known = bool(np.isfinite(values).all())
    except pyarrow.ArrowInvalid:
        known = False
    if not known:
        text = _with_single_blanks(text)
        queries, documents, values = _line_by_line(path, text, names, value, kind)
    queries, documents = queries.dictionary_encode(), documents.dictionary_encode()
    judged = Judged(
        [one.decode("utf-8", "replace") for one in queries.dictionary.to_pylist()],
        queries.indices.to_numpy(),
        documents.dictionary,
        documents.indices.to_numpy(),
        values,
    )
    _refuse_repeated(path, judged)
    return judged


def _with_single_blanks(text):
    return b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))


def _parsed(text, names, value, kind):
    """The three columns by pyarrow, which refuses other numbers of columns and no numbers."""
    import pyarrow
    from pyarrow import csv

    columns = names.split()
    types = dict.fromkeys(columns, pyarrow.binary())
    types[value] = pyarrow.float64() if kind is float else pyarrow.int64()
    kept = ["query", "document", value]
    table = csv.read_csv(
        io.BytesIO(text),
        csv.ReadOptions(column_names=columns, use_threads=False),
        csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=types, include_columns=kept, null_values=[]),
    )
    queries, documents, values = (table[name].combine_chunks() for name in kept)
    return queries, documents, values.to_numpy()


def _line_by_line(path, text, names, value, kind):
    """The same slowly, for numbers that only Python reads (+1), or to name the first bad line."""
    import pyarrow

    columns = names.split()
    place, found = columns.index(value), []
    for number, line in enumerate(text.split(b"\n"), start=1):
        fields = line.split()
        if len(fields) != len(columns):
            came = f"{len(fields)} columns; a line is '{names}'"
            raise MetricInputError(f"{path}, line {number}: {came}")
        found.append((fields[0], fields[2], _number(fields[place], kind)))
        if found[-1][2] is None:
            word = "finite" if kind is float else "whole"
            came = repr(fields[place].decode("utf-8", "replace"))
            raise MetricInputError(
                f"{path}, line {number}: the {value} is {came}; it must be a {word} number"
            )
    queries, documents, values = zip(*found, strict=True)
    return pyarrow.array(queries), pyarrow.array(documents), np.array(values)


def _number(field, kind):
    """A field as a number that float64 or int64 holds; None for any other."""
    try:
        # Python's own syntax for numbers allows what no file should hold: 1_000.
        number = kind(field) if b"_" not in field else None
        return number if number is not None and abs(number) < kind(2**63) else None
    except (ValueError, OverflowError):
        return None


def _refuse_repeated(path, judged):
    """Raise for the first line whose query and document stood on an earlier one."""
    keys = _keys(judged.queries, judged.documents, len(judged.document_ids))
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(keys, kind="stable")
    line = int(order[1:][keys[order[1:]] == keys[order[:-1]]].min())
    document = judged.document_ids[judged.documents[line]].as_py().decode("utf-8", "replace")
    query = judged.query_ids[judged.queries[line]]
    raise MetricInputError(
        f"{path}, line {line + 1}: document {document} is there twice in query {query}"
    )


def _keys(queries, documents, number):
    """One whole number for each query and document."""
    return queries.astype(np.int64) * number + documents


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
    queries, documents, values = _in_rows(run, rows, run.documents)
    judged, numbers, grades = _in_rows(qrels, rows, _numbers_in(run, qrels))
    relevance, used = _grades_of(
        _keys(queries, documents, len(run.document_ids)),
        np.where(numbers < 0, -1, _keys(judged, numbers, len(run.document_ids))),
        grades,
    )
    left = ~used & (grades > 0)
    lowest, highest = np.full(len(kept), np.inf), np.full(len(kept), -np.inf)
    np.minimum.at(lowest, queries, values)
    np.maximum.at(highest, queries, values)
    some = np.isfinite(lowest)
    # Below every document of the query, so that filling up changes no rank.
    fill = below(np.where(some, lowest, 0.0), np.where(some, highest, 0.0))
    return Rankings(
        kept,
        _as_rows(queries, values, fill),
        _as_rows(queries, relevance, np.zeros(len(kept), np.int64)),
        _as_rows(judged[left], grades[left], np.zeros(len(kept), np.int64)),
    )


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
    from pyarrow import compute

    number = compute.index_in(qrels.document_ids, value_set=run.document_ids)
    return number.fill_null(-1).to_numpy(zero_copy_only=False)[qrels.documents]


def _grades_of(keys, judged, grades):
    """The grade of each line of the run, 0 where there is none; and which judgments were used."""
    order = np.argsort(judged, kind="stable")
    ordered = judged[order]
    at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found = ordered[at] == keys
    used = np.zeros(len(judged), dtype=bool)
    used[order[at[found]]] = True
    relevance = np.zeros(len(keys), dtype=np.int64)
    relevance[found] = grades[order[at[found]]]
    return relevance, used


def _as_rows(rows, values, fill):
    """Values of rows as (rows, longest), filled up by one value a row."""
    sizes = np.bincount(rows, minlength=len(fill))
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(rows, kind="stable")
    table = np.repeat(fill[:, None], int(sizes.max()), axis=1)
    table[rows[order], np.arange(len(rows)) - starts[rows[order]]] = values[order]
    return table


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
