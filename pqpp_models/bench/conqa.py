"""Evaluation of retrieval runs on ConQA's conceptual and descriptive queries.

Source: ConQA (Rodriguez et al., ECIR 2024), section 5, Tables 5 and 6. In that paper, Recall@k is 1
if any of the first k images is relevant, else 0. An image without votes is not relevant; a query
without a relevant image is left out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_datasets.load import load_benchmark
from pqpp_files.figures import ResultTable
from pqpp_files.foreign.json_values import read_json
from pqpp_metrics.functional import mann_whitney, mean_intervals
from pqpp_metrics.runs import evaluate_run, read_run
from pqpp_models.errors import PredictorError

QUERY_TYPES = ("descriptive", "conceptual")
MEASURES = {
    "ndcg": "nDCG",
    "rprec": "R-precision",
    "success@1": "Recall@1",
    "success@5": "Recall@5",
    "success@10": "Recall@10",
    "ap": "average precision",
}
"""A measure's name in `evaluate_rankings` to its name in ConQA."""
NAMES = tuple(MEASURES.values())

PUBLISHED = read_json(Path(__file__).with_name("conqa.json"))
"""Table 5 of the paper, the first five of `MEASURES`; average precision was not published."""


def bench_conqa(
    runs: Mapping[str, str], data_dir: str | None = None
) -> tuple[list[ResultTable], list[str]]:
    """Evaluate TREC runs on ConQA; return tables that include the published results, and notes.

    Args:
        runs: The file of each run by name.
        data_dir: As in `load_benchmark`.
    """
    loaded_runs = {name: read_run(path) for name, path in runs.items()}
    queries = {t: load_benchmark("conqa", split=t, data_dir=data_dir) for t in QUERY_TYPES}
    (means, gap), notes = bench_runs(queries, loaded_runs)
    rows = [
        {"run": f"{name} (published)", "queries": query_type}
        | dict(zip(NAMES, values[query_type], strict=False))
        for name, values in PUBLISHED.items()
        for query_type in QUERY_TYPES
    ]
    columns = ["run", "queries", *NAMES[:5]]
    published = ResultTable("published", "ConQA paper, Table 5", columns, rows)
    note = "Recall@k is ConQA's: whether any of the first k images is relevant."
    return [means, published, gap], [note, *notes]


def bench_runs(
    queries: Mapping[str, Sequence[Mapping[str, Any]]],
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> tuple[list[ResultTable], list[str]]:
    """Evaluate runs on ConQA.

    Args:
        queries: The rows of `conqa` by type of query.
        runs: The scores of each run, by run name, query id and image id.

    Returns:
        The means with intervals by run and type of query, one-sided Mann-Whitney tests of whether
        conceptual queries score lower, and notes on queries that were left out.

    Raises:
        PredictorError: A run has results for none of the queries.
    """
    rows: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    notes: list[str] = []
    qrels: dict[str, dict[str, int]] = {}
    slices: dict[str, slice] = {}
    for query_type in QUERY_TYPES:
        start = len(qrels)
        for row in queries[query_type]:
            labels = zip(row["judgments"]["image_id"], row["judgments"]["label"], strict=True)
            if relevant := {str(image): 1 for image, label in labels if label == 1}:
                qrels[str(row["query_id"])] = relevant
        slices[query_type] = slice(start, len(qrels))
        if skipped := len(queries[query_type]) - len(qrels) + start:
            notes.append(f"skipped {skipped} {query_type} queries without a relevant image")
    for name, run in runs.items():
        answers = {query: run[query] for query in qrels if run.get(query)}
        if not answers:
            raise PredictorError(
                f"{name} has no results for ConQA's queries; use query ids such as {min(qrels)}"
            )
        if unanswered := len(qrels) - len(answers):
            notes.append(f"{name} has no results for {unanswered} queries; they count as 0")
        values = evaluate_run(answers, qrels, list(MEASURES), missing="zero")["values"]
        for query_type, selection in slices.items():
            count = selection.stop - selection.start
            line: dict[str, Any] = {"run": name, "queries": f"{query_type}, {count}"}
            means = mean_intervals({name: cells[selection] for name, cells in values.items()})
            for measure, mean in means.items():
                line[MEASURES[measure]] = (mean["mean"], mean["ci_low"], mean["ci_high"])
            rows.append(line)
        for measure, title in MEASURES.items():
            samples = [values[measure][slices[kind]] for kind in ("conceptual", "descriptive")]
            test = mann_whitney(*samples)
            better = {"descriptive over conceptual": test["relative_improvement"]}
            gaps.append({"run": name, "measure": title, "p": test["p_value"], **better})
    title = "Do conceptual queries do worse? (one-sided Mann-Whitney test)"
    return [
        ResultTable("conqa", "ConQA, means with 95% intervals", ["run", "queries", *NAMES], rows),
        ResultTable("gap", title, ["run", "measure", "p", "descriptive over conceptual"], gaps),
    ], notes
