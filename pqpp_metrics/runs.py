"""Runs beside relevance judgments: several measures, means with intervals, comparisons of runs.

A run is a file as `trec.read_run` reads it, a dict of query to a dict of document to score, or
triples of query, document and score, as ir_measures has them; judgments are the same with
relevance, where one below 0 says that the document was not judged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pqpp_files.read_table import Codes
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import compare_means, mean_intervals
from pqpp_metrics.functional._inputs import not_allowed
from pqpp_metrics.functional._measures import measured, parsed_measures
from pqpp_metrics.functional._rankings.inputs import Rules
from pqpp_metrics.trec import Judged, judged_of, rankings, read_qrels, read_run, refuse_repeated

RunLike: TypeAlias = (
    str | Path | Mapping[str, Mapping[str, float]] | Iterable[tuple[str, str, float]] | Judged
)
"""A run or judgments in any of the forms above, or as they were read."""


def evaluate_run(
    run: RunLike,
    qrels: RunLike,
    measures: str | Iterable[str],
    missing: str = "error",
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Several measures of a run, for each query and as means with intervals.

    Args:
        run: See above.
        qrels: See above.
        measures: Names, a list or one text with commas, see `functional.evaluate_rankings`.
        missing: What a query does that only one side has, see `trec.rankings`.
        ties: How equal scores are ordered, see `functional.ranking`; "docno" is trec_eval's rule.
        tie_tolerance: Which scores are equal, see `functional.ranking`.
        relevance_level: The least grade of a relevant document; None: any above 0.
        judged_only: Whether only judged documents get a rank.
        confidence: Level of the intervals, see `functional.mean_intervals`.
        resamples: How many to draw for them.
        seed: An integer of at least 0.

    Returns:
        dict: "query_ids", in the order of the judgments; "values", measure to float64 array
        (queries,); "means", measure to dict of "mean", "ci_low", "ci_high" and "n".

    Raises:
        MetricInputError: files that are damaged, with file and line; what a measure refuses.

    Example:
        >>> run = {"q1": {"a": 0.9, "b": 0.8}, "q2": {"a": 0.1, "c": 0.3}}
        >>> found = evaluate_run(run, {"q1": {"b": 1}, "q2": {"c": 2, "d": 1}}, "rr,recall@1")
        >>> found["query_ids"], {name: row.tolist() for name, row in found["values"].items()}
        (['q1', 'q2'], {'rr': [0.5, 1.0], 'recall@1': [0.0, 0.5]})
    """
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only)
    judged, asked = as_qrels(qrels), parsed_measures(measures)
    queries, values = _values(as_run(run), judged, asked, missing, rules)
    return _summary(queries, values, confidence, resamples, seed)


def _summary(queries, values, *drawing):
    return {"query_ids": queries, "values": values, "means": mean_intervals(values, *drawing)}


def compare_runs(
    runs: Mapping[str, RunLike],
    qrels: RunLike,
    measures: str | Iterable[str],
    missing: str = "error",
    ties: str = "expected",
    tie_tolerance: float = 0.0,
    relevance_level: float | None = None,
    judged_only: bool = False,
    confidence: float = 0.95,
    resamples: int = 2_000,
    permutations: int = 10_000,
    alpha: float = 0.05,
    seed: int = 0,
) -> dict[str, Any]:
    """Several measures of several runs, and whether the runs differ.

    Args:
        runs: Name to run; two or more. With `missing="drop"` queries count that all runs have.
        qrels: As for `evaluate_run`, and so are the options that it has.
        permutations: How many swaps the test draws, see `functional.compare_means`.
        alpha: Level of the rejections after Holm's correction over the whole table.

    Returns:
        dict: "runs", name to what `evaluate_run` returns, all of the same queries; "comparisons",
        the rows of `functional.compare_means`.

    Raises:
        MetricInputError: as `evaluate_run`; fewer than two runs; no query that all have.

    Example:
        >>> qrels = {query: {"a": 1} for query in "123456"}
        >>> first = {query: {"a": 2.0, "b": 1.0} for query in qrels}
        >>> other = {query: {"a": 0.5, "b": 1.0} for query in qrels}
        >>> found = compare_runs({"first": first, "other": other}, qrels, "rr")
        >>> found["comparisons"][0]["difference"], found["runs"]["other"]["means"]["rr"]["mean"]
        (0.5, 0.5)
    """
    if not isinstance(runs, Mapping) or len(runs) < 2:
        raise MetricInputError("`runs` must hold two runs or more, by their names")
    rules = Rules(ties, tie_tolerance, relevance_level, judged_only)
    judged, asked = as_qrels(qrels), parsed_measures(measures)
    tables = {
        name: _values(as_run(run), judged, asked, missing, rules) for name, run in runs.items()
    }
    common = set.intersection(*(set(queries) for queries, _ in tables.values()))
    if not common:
        raise MetricInputError("the runs have no query in common; give runs of the same queries")
    summaries = {}
    for name, (queries, values) in tables.items():
        kept = np.array([query in common for query in queries])
        queries = [query for query in queries if query in common]
        values = {measure: row[kept] for measure, row in values.items()}
        summaries[name] = _summary(queries, values, confidence, resamples, seed)
    values = {name: summary["values"] for name, summary in summaries.items()}
    return {"runs": summaries, "comparisons": compare_means(values, permutations, alpha, seed)}


def _values(run, qrels, measures, missing, rules):
    """The queries, and the values of each measure."""
    all_options = [measure.rules | measure.options for measure in measures]
    keeps = [one["unjudged"] == "keep" or one.get("judged_only") for one in all_options]
    given = rankings(run, qrels, missing, rules.judged_only or any(keeps))
    needs_ids = "docno" in (rules.ties, *(one.get("ties") for one in all_options))
    ids = given.document_ids if needs_ids else None
    rules = replace(rules, document_ids=ids, unretrieved=given.unretrieved, sizes=given.sizes)
    return given.query_ids, measured(measures, given.scores, given.relevance, rules)


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
        >>> as_qrels([("q1", "a", 2), ("q1", "b", -1)]).values.tolist()
        [2, 0]
    """
    return _as_judged("qrels", qrels, read_qrels)


def _as_judged(name, given, read):
    if isinstance(given, Judged):
        return given
    if isinstance(given, (str, os.PathLike)):
        return read(given)
    if isinstance(given, Mapping):
        given = [(query, *pair) for query, of in given.items() for pair in dict(of).items()]
        if not given:
            raise MetricInputError(f"`{name}` holds no document; give some, by query")
    try:
        queries, documents, values = zip(*(tuple(row)[:3] for row in given), strict=True)
    except (TypeError, ValueError):
        wanted = "give a file, a dict of query to dict of document to value, or triples of these"
        raise not_allowed(name, given, wanted) from None
    try:
        values = np.array(values, dtype=np.float64)
        texts = [list(map(str, column)) for column in (queries, documents)]
        "".join(texts[0] + texts[1]).encode()
    except (TypeError, ValueError):
        raise MetricInputError(f"`{name}` holds ids that are no text, or no numbers") from None
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        where = f"query {queries[place]}, document {documents[place]}"
        raise MetricInputError(f"`{name}` holds {values[place]} for {where}; give finite numbers")
    judged = judged_of(Codes(texts[0]), Codes(texts[1]), values, name == "qrels")
    refuse_repeated(judged, lambda line: f"`{name}`")
    return judged
