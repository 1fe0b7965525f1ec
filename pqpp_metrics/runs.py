"""Runs beside relevance judgments: several measures, means with intervals, comparisons of runs.

A run is in one of the forms of `run_forms`; judgments are the same with relevance, where one below
0 says that the document was not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import compare_means, mean_intervals
from pqpp_metrics.functional._measures import measured, parsed_measures
from pqpp_metrics.functional._rankings.inputs import Rules
from pqpp_metrics.run_forms import RunLike, as_qrels, brought_together


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
    queries, values = _values(run, qrels, parsed_measures(measures), missing, rules)
    return _summary(queries, values, confidence)


def _summary(queries, values, confidence):
    return {"query_ids": queries, "values": values, "means": mean_intervals(values, confidence)}


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
    qrels = qrels if isinstance(qrels, Mapping) else as_qrels(qrels)  # once for all runs
    asked = parsed_measures(measures)
    tables = {name: _values(run, qrels, asked, missing, rules) for name, run in runs.items()}
    common = set.intersection(*(set(queries) for queries, _ in tables.values()))
    if not common:
        raise MetricInputError("the runs have no query in common; give runs of the same queries")
    summaries = {}
    for name, (queries, values) in tables.items():
        kept = np.array([query in common for query in queries])
        queries = [query for query in queries if query in common]
        values = {measure: row[kept] for measure, row in values.items()}
        summaries[name] = _summary(queries, values, confidence)
    values = {name: summary["values"] for name, summary in summaries.items()}
    comparisons = compare_means(values, permutations, alpha, confidence, seed)
    return {"runs": summaries, "comparisons": comparisons}


def _values(run, qrels, measures, missing, rules):
    """The queries, and the values of each measure."""
    all_options = [measure.rules | measure.options for measure in measures]
    keeps = rules.judged_only or any(option.get("judged_only") for option in all_options)
    given = brought_together(run, qrels, missing, keeps)
    needs_ids = "docno" in (rules.ties, *(option.get("ties") for option in all_options))
    ids = given.document_numbers if needs_ids else None
    rules = replace(rules, document_ids=ids, unretrieved=given.unretrieved, sizes=given.sizes)
    return given.query_ids, measured(measures, given.scores, given.relevance, rules)
