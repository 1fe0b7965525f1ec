"""Evaluate runs: several measures, means with intervals, comparisons of runs.

A run is a file as `read_run` reads it; a dict {query: {document: score}}; a table of pandas,
polars, Arrow or datasets, or a dict of columns, with columns `query_id`, `doc_id` and `score`
(`rel` or `relevance` for judgments) or as `NAMES` has them; or triples of these, as ir_measures has
them. Judgments have the same forms; a relevance below 0 means not judged.
"""

from __future__ import annotations

import codecs
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pqpp_files.errors import PqppError
from pqpp_files.names import did_you_mean
from pqpp_files.open_input import Input, find_suffix
from pqpp_files.read_table import Table
from pqpp_metrics.columns import (
    RunTable,
    columns_from_nested,
    columns_from_rows,
    columns_from_table,
    columns_from_text,
    join_grades,
    tidy_whitespace,
)
from pqpp_metrics.errors import MetricInputError, UnjudgedWarning
from pqpp_metrics.forms import to_plain
from pqpp_metrics.functional import _measures, compare_means, mean_intervals
from pqpp_metrics.functional._inputs import not_allowed_error, require_choice
from pqpp_metrics.functional._rankings.inputs import Rules
from pqpp_metrics.functional._rankings.order import get_score_below
from pqpp_metrics.tables import (
    TABLES,
    MemoryTable,
    Reading,
    Source,
    as_text,
    describe_dropped,
    load_source,
    split_path_and_columns,
)

Nested: TypeAlias = Mapping[str, Mapping[str, float]]
"""Maps each query to its documents, and these to scores or grades."""

RunLike: TypeAlias = str | Path | Nested | Iterable[tuple[str, str, float]] | Any
"""A run or judgments in any of the forms above."""

NAMES = {
    "query": ("query_id", "query", "qid", "prompt_id"),
    "document": ("doc_id", "document_id", "docno", "docid", "doc", "document", "image"),
    "run": ("score", "predictions", "similarity", "sim"),
    "qrels": ("rel", "relevance", "references", "grade", "label"),
}
"""The possible column names in tables of runs and judgments."""

_Measures: TypeAlias = Mapping[str, _measures.RankingMeasure | None]
_Values: TypeAlias = dict[str, NDArray[Any]]

_LINES = {"run": "query Q0 document rank score tag", "qrels": "query iteration document relevance"}


@dataclass
class Rankings:
    """A run and its judgments as arrays for the ranking metrics, one row per query.

    `scores` and `relevance` are (queries, documents), padded with documents that are ranked last
    and not relevant. `unretrieved` are the grades of relevant documents outside the run, padded
    with 0. `document_numbers` returns, for some row indices, the rank of each document's name from
    1 in ascending order of bytes, padded with 0.
    """

    query_ids: list[str]
    scores: NDArray[Any]
    relevance: NDArray[Any]
    unretrieved: NDArray[Any]
    document_numbers: Callable[[Any], NDArray[np.int64]]


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    r"""Read a run file: query, Q0, document, rank, score and tag, separated by whitespace.

    As in trec_eval the score decides the order, and the rank column is not used. Words after the
    tag, blank lines and lines that begin with # are ignored.

    Args:
        path: The file, also compressed with gzip; `-` is standard input.

    Returns:
        dict {query: {document: score}}.

    Raises:
        MetricInputError: With file and line: too few columns, a score that is not a finite number,
            a duplicate document in a query; or an empty file.
        FileError: There is no such file, or it is damaged.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "run"
        >>> _ = path.write_text("q1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.8 me\n")
        >>> read_run(path)
        {'q1': {'a': 0.9, 'b': 0.8}}
    """
    return _read_columns(path, "run").as_nested()


def read_qrels(path: str | Path) -> dict[str, dict[str, float]]:
    r"""Read a relevance file: query, iteration, document and relevance, separated by whitespace.

    Blank lines and lines that begin with # are ignored.

    Args:
        path: The file, also compressed with gzip; `-` is standard input.

    Returns:
        dict {query: {document: grade}}, a grade being an int if whole; below 0 means not judged.
        trec_eval reads 0.5 as 0.

    Raises:
        MetricInputError: With file and line: another number of columns, a relevance that is not a
            finite number, a duplicate document in a query; or an empty file.
        FileError: There is no such file, or it is damaged.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "qrels"
        >>> _ = path.write_text("q1 0 b 1\n")
        >>> read_qrels(path)
        {'q1': {'b': 1}}
    """
    return _read_columns(path, "qrels").as_nested(are_grades=True)


def read_trec(
    path: str | Path, side: str
) -> tuple[list[tuple[str, str, float]], list[int], Callable[[int], str]]:
    """Read the rows of a TREC file: query, document, and score or grade.

    Args:
        path: As in `read_run`.
        side: `run` or `qrels`.

    Returns:
        The rows, the line number of each, and a function that returns the location of a row.

    Raises:
        MetricInputError: As `read_run` and `read_qrels`, but for repeated documents.
    """
    source = Input(path)
    return _read_rows(source.name, source.read().removeprefix(codecs.BOM_UTF8), side)


def _read_columns(path: str | Path, side: str) -> RunTable:
    """Read a TREC file into columns; raise if a document appears twice in a query."""
    source = Input(path)
    text, names = source.read().removeprefix(codecs.BOM_UTF8), _LINES[side].split()
    place, bound = (4, math.inf) if side == "run" else (3, 2**63)

    def locate(row: int) -> str:
        return _read_rows(source.name, text, side)[2](row)

    for tidy in (bytes, tidy_whitespace):
        if (run := columns_from_text(tidy(text), names, names[place], bound, locate)) is not None:
            return run
    return columns_from_rows(_read_rows(source.name, text, side)[0], locate)


def _read_rows(
    name: str, text: bytes, side: str
) -> tuple[list[tuple[str, str, float]], list[int], Callable[[int], str]]:
    """Read the text of a TREC file line by line."""
    line_form = _LINES[side]
    columns, value_index = line_form.split(), 4 if side == "run" else 3
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []

    def locate(row: int) -> str:
        return f"{name}, line {lines[row]}"

    for number, line in enumerate(text.split(b"\n"), start=1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        lines.append(number)
        # Words after the last column of qrels are an error, as in trec_eval.
        if len(words) < len(columns) or (side == "qrels" and len(words) > len(columns)):
            hint = "; are `run` and `qrels` swapped?" if len(words) in (4, 6) else ""
            fault = f"{locate(-1)}: expected fields {line_form!r}; got {len(words)}"
            raise MetricInputError(fault + hint)
        query, document, word = (
            words[index].decode("utf-8", "backslashreplace") for index in (0, 2, value_index)
        )
        try:
            value = float(word)
            # Python's syntax for numbers also allows 1_000.
            if "_" in word or not abs(value) < (math.inf if side == "run" else 2**63):
                raise ValueError
        except ValueError:
            fault = f"the {columns[value_index]} must be a finite number; got {word[:60]!r}"
            raise MetricInputError(f"{locate(-1)}: {fault}") from None
        rows.append((query, document, int(value) if side == "qrels" and value % 1 == 0 else value))
    if not rows:
        raise MetricInputError(f"{name} is empty; add lines of the form '{line_form}'")
    return rows, lines, locate


def has_row_per_document(table: Table, how: Reading) -> bool:
    """Return whether a table has one row per document of a query, not one per query."""
    has_lists = any(isinstance(c, list) for cells in table.columns.values() for c in cells[:1])
    return None not in _find_ids(table, how) and not has_lists


def read_input(side: str, source: Source, how: Reading, both: bool = False) -> tuple[RunTable, int]:
    """Read a run or relevance judgments.

    Args:
        side: `run` or `qrels`.
        source: The file or table; a table has columns of queries, documents and values.
        how: How tables are read.
        both: Whether the table has both sides; if so, a row without a score was not
            retrieved, and one without relevance not judged.

    Returns:
        The columns, and how many rows were left out because of NaN.

    Raises:
        MetricInputError: The input is invalid; the message names file and line.
        FileError: A file cannot be read.
    """
    if (table := source.table) is None:
        return _read_columns(source.path, side), 0
    columns = [*_find_ids(table, how), source.columns or _find_column(table, side)]
    if None in columns:
        names = NAMES[("query", "document", side)[columns.index(None)]]
        fault = f"{table.path}: no column {names[0]!r} (columns: {', '.join(table.columns)[:200]})"
        raise MetricInputError(f"{fault}; rename a column to {' or '.join(names)}")
    queries, documents, column = filter(None, columns)
    values = table.numbers(column)
    rows = [row for row, value in enumerate(values) if value == value]
    checked = rows if both or how.nan == "drop" else range(len(values))
    if invalid := [row for row in checked if not math.isfinite(values[row])]:
        value = values[invalid[0]]
        fault = f"{table.locate(invalid[0])}: {column!r} must be a finite number; got {value}"
        hint = "; to skip it, set `nan` to drop" if math.isnan(value) else ""
        raise MetricInputError(fault + hint)
    if not rows:
        raise MetricInputError(f"{table.path}: the column {column!r} is empty; fill in the column")
    ids = [
        [cell if isinstance(cell, str) else as_text(cell) for cell in map(column.__getitem__, rows)]
        for column in (table[queries], table[documents])
    ]
    for name, texts in zip((queries, documents), ids, strict=True):
        if "" in texts:
            where = table.locate(rows[texts.index("")])
            raise MetricInputError(f"{where}: {name!r} is empty; fill in every row")
    triples = zip(*ids, map(values.__getitem__, rows), strict=True)
    run = columns_from_rows(triples, lambda row: table.locate(rows[row]))
    return run, 0 if both else len(values) - len(rows)


def _find_ids(table: Table, how: Reading) -> Sequence[str | None]:
    """Return the names of the query and the document column; None for a missing one."""
    names = [_find_column(table, kind) for kind in ("query", "document")]
    return how.ids if len(how.ids) == 2 else names


def _find_column(table: Table | Sequence[str], kind: str) -> str | None:
    return next((name for name in NAMES[kind] if name in table), None)


def _as_columns(side: str, data: RunLike) -> RunTable:
    """Convert a run or judgments in any form to checked columns."""
    if isinstance(data, RunTable):
        return data
    if isinstance(data, (str, Path)):
        return _read_columns(data, side)
    try:
        columns = _encode_in_memory(side, data)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, PqppError):
            raise
        raise MetricInputError(f"`{side}` must have one number per document ({error})") from None
    if not len(columns.values):
        raise MetricInputError(f"`{side}` must not be empty; add at least one document")
    if len(invalid := np.flatnonzero(~np.isfinite(columns.values))):
        row, (names, documents) = invalid[0], columns.documents
        value = f"{columns.values[row]} for query {columns.queries[columns.query[row]]}"
        value += f", document {names[documents[row]]}"
        raise MetricInputError(f"`{side}` must contain only finite numbers; got {value}")
    return columns


def _encode_in_memory(side: str, data: Any) -> RunTable:
    if isinstance(data, Mapping) and all(isinstance(scores, Mapping) for scores in data.values()):
        return columns_from_nested(side, {query: data[query] for query in data if data[query]})
    if hasattr(data, "columns") or hasattr(data, "column_names") or isinstance(data, Mapping):
        names = list(getattr(data, "column_names", getattr(data, "columns", data)))
        selected = [_find_column(names, kind) for kind in ("query", "document", side)]
        columns = columns_from_table(data, selected, lambda row: f"`{side}`, row {row + 1}")
        if columns is not None:
            return columns
        # Reading row by row locates the invalid value.
        source = Source(f"`{side}`", None, MemoryTable(f"`{side}`", data))
        return read_input(side, source, Reading())[0]
    try:
        rows = [(str(row[0]), str(row[1]), row[2]) for row in data]
    except (TypeError, LookupError):
        rule = "must be a file, a table, a dict {query: {document: value}} or triples"
        raise not_allowed_error(side, data, rule) from None
    if not rows:
        return columns_from_nested(side, {})
    return columns_from_rows(rows, lambda row: f"`{side}`")


def join_rankings(
    run: RunLike, qrels: RunLike, missing: str = "error", keep_unjudged: bool = False
) -> Rankings:
    """Join a run and relevance judgments as arrays, one row per query.

    A retrieved document without a judgment is not relevant.

    Args:
        run: A run in any form that this module reads.
        qrels: Judgments in any form that this module reads.
        missing: The rule for a query on one side only. "error" (default) raises; "zero" keeps a
            judged query that the run misses, with nothing retrieved (every metric is 0), and leaves
            out a query without judgments, with an `UnjudgedWarning`; "drop" leaves out both, as
            pytrec_eval does.
        keep_unjudged: Whether grades that are missing or below 0 become NaN.

    Returns:
        `Rankings`, in the order of the judgments.

    Raises:
        MetricInputError: The input cannot be read, a query is on one side only with "error", or no
            query is common.

    Example:
        >>> result = join_rankings({"q1": {"a": 0.9, "b": 0.8}}, {"q1": {"b": 1, "c": 2}})
        >>> result.scores.tolist(), result.relevance.tolist(), result.unretrieved.tolist()
        ([[0.9, 0.8]], [[0, 1]], [[2]])
    """
    run, qrels = _as_columns("run", run), _as_columns("qrels", qrels)
    queries = _select_queries(run.queries, qrels.queries, missing)
    run_rows, rows, grades, other_rows, other_grades = join_grades(run, qrels, queries)
    scores, sizes = run.values[run_rows], np.bincount(rows, minlength=len(queries))
    is_known = grades >= 0 if keep_unjudged else ~np.isnan(grades)
    all_grades = np.concatenate([np.where(is_known, grades, 0), other_grades])
    all_grades = np.maximum(all_grades, 0)
    if ((integers := all_grades.astype(np.int64)) == all_grades).all():
        all_grades = integers
    grades, other_grades = np.split(all_grades, [len(scores)])
    if keep_unjudged:
        grades = np.where(is_known, grades, np.nan)
    table = _fill_table(rows, len(queries), scores, np.nan)
    # The padding is below every document of the query, so that it changes no rank.
    lowest_scores = np.where(sizes, np.fmin.reduce(table, axis=1, initial=np.inf), 0.0)
    highest_scores = np.where(sizes, np.fmax.reduce(table, axis=1, initial=-np.inf), 0.0)
    padding = get_score_below(lowest_scores, highest_scores)[:, None]

    def document_numbers(indices: Any) -> NDArray[np.int64]:
        from pyarrow import compute

        ranks = np.argsort(compute.sort_indices(run.documents[0]).to_numpy()) + 1  # byte by byte
        return _fill_table(rows, len(queries), ranks[run.documents[1][run_rows]], 0)[indices]

    return Rankings(
        queries,
        np.where(np.isnan(table), padding, table),
        _fill_table(rows, len(queries), grades, np.nan if keep_unjudged else 0),
        _fill_table(other_rows, len(queries), other_grades, 0),
        document_numbers,
    )


def _select_queries(run: list[str], qrels: list[str], missing: str) -> list[str]:
    """Return the queries to score, in the order of the judgments; see `join_rankings`."""
    require_choice("missing", missing, ("error", "zero", "drop"))
    unretrieved, unjudged = set(qrels) - set(run), set(run) - set(qrels)
    sides = [(unretrieved, "judgments", "run"), (unjudged, "run", "judgments")]
    for missing_ids, side, other in sides if missing == "error" else ():
        if missing_ids:
            queries, verb = ("query", "has") if len(missing_ids) == 1 else ("queries", "have")
            fault = f"{len(missing_ids)} {queries} in the {side} {verb} no documents in the {other}"
            remedy = "add the documents, or set `missing` to zero or drop"
            raise MetricInputError(f"{fault} ({', '.join(sorted(missing_ids)[:3])}); {remedy}")
    if not set(run) & set(qrels):
        raise MetricInputError("the run and judgments have no query in common; check query ids")
    if missing == "zero" and unjudged:
        queries = "1 query" if len(unjudged) == 1 else f"{len(unjudged):,} queries"
        examples = ", ".join(sorted(unjudged)[:3])
        warnings.warn(
            f"{queries} of the run without judgments left out ({examples})", UnjudgedWarning, 4
        )
    return [query for query in qrels if query not in unretrieved or missing == "zero"]


def _fill_table(rows: Any, number: int, values: NDArray[Any], fill: float) -> NDArray[Any]:
    """Return values, given in the order of their rows, as a table with padded rows."""
    sizes = np.bincount(rows, minlength=number)
    if len(set(sizes.tolist())) == 1:
        return values.reshape(number, -1)
    table = np.full((number, int(sizes.max())), fill, dtype=values.dtype)
    table[rows, np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[rows]] = values
    return table


def evaluate_run(
    run: RunLike,
    qrels: RunLike,
    measures: str | Iterable[str],
    missing: str = "error",
    ties: str = "expected",
    relevance_level: float | None = None,
    judged_only: bool = False,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Compute several measures of a run, for each query and as means with intervals.

    Args:
        run: A run in any form that this module reads.
        qrels: Judgments in any form that this module reads.
        measures: Names, a list or one string with commas, see `functional.evaluate_rankings`; other
            names are those of the package ir_measures, if it is installed, with their options in
            the name, as in SetP(rel=2).
        missing: The rule for a query on one side only, see `join_rankings`.
        ties: The rule for equal scores, see `functional.ranking`; "docno" is trec_eval's.
        relevance_level: The least grade of a relevant document; None: any above 0.
        judged_only: Whether only judged documents get a rank.
        confidence: Level of the intervals, see `functional.mean_intervals`.

    Returns:
        dict: "query_ids", in the order of the judgments; "values", a float64 array (queries,) by
            measure; "means", by measure a dict of "mean", "ci_low", "ci_high" and "n".

    Raises:
        MetricInputError: a damaged file, with file and line; or input that a measure does not
            accept.

    Example:
        >>> run = {"q1": {"a": 0.9, "b": 0.8}, "q2": {"a": 0.1, "c": 0.3}}
        >>> result = evaluate_run(run, {"q1": {"b": 1}, "q2": {"c": 2, "d": 1}}, "rr,recall@1")
        >>> result["query_ids"], {name: row.tolist() for name, row in result["values"].items()}
        (['q1', 'q2'], {'rr': [0.5, 1.0], 'recall@1': [0.0, 0.5]})
    """
    rules = Rules(ties, relevance_level, judged_only)
    queries, values = _score_run(run, qrels, _find_measures(measures), missing, rules)
    return _summarise(queries, values, confidence)


def _summarise(queries: list[str], values: _Values, confidence: float) -> dict[str, Any]:
    return {"query_ids": queries, "values": values, "means": mean_intervals(values, confidence)}


def compare_runs(
    runs: Mapping[str, RunLike],
    qrels: RunLike,
    measures: str | Iterable[str],
    missing: str = "error",
    ties: str = "expected",
    relevance_level: float | None = None,
    judged_only: bool = False,
    confidence: float = 0.95,
    permutations: int = 10_000,
    alpha: float = 0.05,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute several measures of several runs, and test whether the runs differ.

    Args:
        runs: Two or more runs by name. With `missing="drop"` only queries of all runs count.
        qrels: As for `evaluate_run`, as are its options.
        permutations: Number of random swaps, see `functional.compare_means`.
        alpha: Level of the rejections after Holm's correction over the whole table.

    Returns:
        dict: "runs", the result of `evaluate_run` by name, for the same queries; "comparisons",
        the rows of `functional.compare_means`.

    Raises:
        MetricInputError: as for `evaluate_run`; fewer than two runs; no common query.

    Example:
        >>> qrels = {query: {"a": 1} for query in "123456"}
        >>> first = {query: {"a": 2.0, "b": 1.0} for query in qrels}
        >>> other = {query: {"a": 0.5, "b": 1.0} for query in qrels}
        >>> result = compare_runs({"first": first, "other": other}, qrels, "rr")
        >>> result["comparisons"][0]["difference"], result["runs"]["other"]["means"]["rr"]["mean"]
        (0.5, 0.5)
    """
    if len(runs) < 2:
        raise MetricInputError("`runs` must be a dict of two or more runs")
    rules = Rules(ties, relevance_level, judged_only)
    qrels, parsed = _as_columns("qrels", qrels), _find_measures(measures)
    tables = {name: _score_run(run, qrels, parsed, missing, rules) for name, run in runs.items()}
    if not (common := set.intersection(*(set(queries) for queries, _ in tables.values()))):
        raise MetricInputError("the runs have no query in common; use runs of the same queries")
    summaries = {}
    for name, (queries, values) in tables.items():
        is_common = np.array([query in common for query in queries])
        queries = [query for query in queries if query in common]
        values = {measure: row[is_common] for measure, row in values.items()}
        summaries[name] = _summarise(queries, values, confidence)
    by_run = {name: summary["values"] for name, summary in summaries.items()}
    comparisons = compare_means(by_run, permutations, alpha, confidence, seed)
    return {"runs": summaries, "comparisons": comparisons}


def _score_run(
    run: RunLike, qrels: RunLike, measures: _Measures, missing: str, rules: Rules
) -> tuple[list[str], _Values]:
    """Return the queries, and the values of each measure."""
    run, qrels = _as_columns("run", run), _as_columns("qrels", qrels)
    own = [measure for measure in measures.values() if measure is not None]
    judged_only = rules.judged_only or any(m.options.get("judged_only") for m in own)
    arrays = join_rankings(run, qrels, missing, keep_unjudged=judged_only)
    rules = replace(rules, unretrieved=arrays.unretrieved, document_ids=arrays.document_numbers)
    values = _measures.compute_measures(own, arrays.scores, arrays.relevance, rules)
    if external := [name for name, measure in measures.items() if measure is None]:
        is_trec_eval = not rules.judged_only and rules.ties in ("expected", "docno")
        if not is_trec_eval or rules.relevance_level is not None:
            fault = "`relevance_level`, `judged_only` and other `ties` than docno do not apply to "
            remedy = "remove them, or write the level in the name, as in SetP(rel=2)"
            raise MetricInputError(f"{fault}{', '.join(external)} of ir_measures; {remedy}")
        values |= _compute_by_ir_measures(external, run, qrels, arrays.query_ids)
    return arrays.query_ids, {name: values[name] for name in measures}


def _find_measures(measures: str | Iterable[str]) -> _Measures:
    """Return the requested measures by name; None for those that ir_measures computes.

    Raises:
        MetricInputError: a name is unknown to both.
    """
    parsed: dict[str, _measures.RankingMeasure | None] = {}
    for name in _measures.split_measure_names(measures):
        is_external = not _measures.is_own_measure(name) and find_ir_measure(name) is not None
        parsed[name] = None if is_external else _measures.parse_measure(name)
    return parsed


def find_ir_measure(name: str) -> Any:
    """Return the ir_measures measure of a name; None if unknown or not installed."""
    try:
        import ir_measures

        return ir_measures.parse_measure(name)
    except (ImportError, NameError, ValueError, TypeError):
        return None


def _compute_by_ir_measures(
    names: list[str], run: RunTable, qrels: RunTable, queries: list[str]
) -> _Values:
    import ir_measures

    scores, judged = run.as_nested(), qrels.as_nested(are_grades=True)
    grades: dict[str, Any] = {query: judged[query] for query in queries}
    if any(grade % 1 for by_document in grades.values() for grade in by_document.values()):
        raise MetricInputError(f"{', '.join(names)} needs integer grades; round the grades")
    values = {}
    for name in names:
        try:
            results = list(ir_measures.iter_calc([find_ir_measure(name)], grades, scores))
        except CalledProcessError:
            raise MetricInputError(f"{name} failed; check that query ids are integers") from None
        except (ValueError, AssertionError) as error:  # such as an unknown option
            raise MetricInputError(f"ir_measures cannot compute {name}: {error}") from None
        by_query = {result.query_id: result.value for result in results}
        values[name] = np.array([by_query.get(query, 0.0) for query in queries])
    return values


def compute_runs(
    measures: str, runs: Sequence[str], qrels: str, options: Mapping[str, Any], how: Reading
) -> tuple[dict[str, Any], str]:
    """Compute measures of runs in files.

    Args:
        measures: Names, separated by commas; measures that pqpp lacks are computed by the package
            ir_measures, if it is installed.
        runs: The files of the runs, as `[NAME=]FILE[:COLUMN]`.
        qrels: The file of the relevance judgments.
        options: Options of `compare_runs`.
        how: How the files are read.

    Returns:
        The output of `compare_runs`, or of `evaluate_run` for a single run, as plain values; and a
        note on rows with NaN that were left out and on measures computed by ir_measures.

    Raises:
        MetricInputError: The input is invalid, or a query is on one side only.
    """
    parsed = _find_measures(measures)  # fails before long files are read
    function = evaluate_run if len(runs) == 1 else compare_runs
    inputs = ("run", "runs", "qrels", "measures", "missing")
    known = [name for name in inspect.signature(function).parameters if name not in inputs]
    for name in options:
        if name not in known:
            raise MetricInputError(f"unknown `option` {name!r}; {did_you_mean(name, known)}")
    files = _name_runs(runs)
    trec = [path for path, _ in map(split_path_and_columns, [qrels, *files.values()])]
    trec = [path for path in trec if find_suffix(path) not in TABLES]
    tables: dict[Any, Any] = {}
    judged = load_source("qrels", qrels, how, trec, tables)
    # Whether the judgments are in the file of a run.
    shared = {name: split_path_and_columns(file)[0] == judged.path for name, file in files.items()}
    judgments, dropped = read_input("qrels", judged, how, any(shared.values()))
    run_tables: dict[str, Any] = {}
    for name, file in files.items():
        source = load_source(name, file, how, trec, {**tables})
        run_tables[name], more = read_input("run", source, how, shared[name])
        dropped += more
    run: Any = run_tables if len(run_tables) > 1 else next(iter(run_tables.values()))
    result = to_plain(function(run, judgments, measures, missing=how.missing, **options))
    external = ", ".join(name for name, measure in parsed.items() if measure is None)
    notes = [describe_dropped(dropped), f"{external} by ir_measures" if external else ""]
    return result, "; ".join(filter(None, notes))


def _name_runs(runs: Sequence[str]) -> dict[str, str]:
    """Return files by run name: as given, else that of the file, or the column in a shared file."""
    files: dict[str, str] = {}
    paths = [split_path_and_columns(text)[0] for text in runs]
    for text in runs:
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            file, (path, column) = text, split_path_and_columns(text)
            name = Path(path.removesuffix(".gz")).stem
            name = column if column and paths.count(path) > 1 else name
        if name in files:
            raise MetricInputError(f"two runs are called {name!r}; rename one: `run` NAME={file}")
        files[name] = file
    return files
