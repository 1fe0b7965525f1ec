"""ConQA's table: how well runs answer conceptual queries, and descriptive ones.

Source: ConQA (Rodriguez et al., ECIR 2024), section 5, Tables 5 and 6. Recall@k there is whether
any of the first k images is relevant. An image without votes is not relevant; a query without a
relevant image is left out, as it has nothing to find.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.load import load_benchmark
from pqpp_files.figures import Figures
from pqpp_files.foreign.json_values import read_json
from pqpp_metrics.functional import evaluate_rankings, mann_whitney, mean_intervals
from pqpp_metrics.runs import read_run
from pqpp_models.errors import PredictorError

KINDS = ("descriptive", "conceptual")
MEASURES = {
    "ndcg": "nDCG",
    "rprec": "R-precision",
    "success@1": "Recall@1",
    "success@5": "Recall@5",
    "success@10": "Recall@10",
    "ap": "average precision",
}
"""Measure, as `evaluate_rankings` knows it, to what ConQA calls it."""
NAMES = tuple(MEASURES.values())

PUBLISHED = read_json(Path(__file__).with_name("conqa.json"))
"""Table 5 of the paper, the first five of `MEASURES`; average precision was not published."""


Run = Mapping[str, Mapping[str, float]]
"""Query id to image id to score."""


def bench_conqa(
    runs: Mapping[str, str], data_dir: str | None = None
) -> tuple[list[Figures], list[str]]:
    """Score files of TREC runs on ConQA, as `bench_runs` does, beside the published figures.

    Args:
        runs: Name to file.
        data_dir: As for `load_benchmark`.
    """
    read = {name: read_run(path) for name, path in runs.items()}
    where = {"data_dir": data_dir} if data_dir else {}
    queries = {kind: load_benchmark("conqa", split=kind, **where) for kind in KINDS}
    (ours, gap), notes = bench_runs(queries, read)
    rows = [
        {"run": f"{name} (published)", "queries": kind}
        | dict(zip(NAMES, values[kind], strict=False))
        for name, values in PUBLISHED.items()
        for kind in KINDS
    ]
    theirs = Figures("published", "ConQA paper, Table 5", ["run", "queries", *NAMES[:5]], rows)
    about = "Recall@k is ConQA's: whether any of the first k images is relevant."
    return [ours, theirs, gap], [about, *notes]


def bench_runs(
    queries: Mapping[str, Sequence[Mapping[str, Any]]], runs: Mapping[str, Run]
) -> tuple[list[Figures], list[str]]:
    """Score runs on ConQA.

    Args:
        queries: Kind to rows of `conqa`, with `query_id` and `judgments` that have `image_id` and
            `label`.
        runs: Name to the run.

    Returns:
        The means with their intervals by run and kind of query, the one-sided Mann-Whitney tests of
        whether conceptual queries do worse, and lines on queries that were left out.

    Raises:
        PredictorError: A run answers none of the queries.
    """
    rows: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    notes: list[str] = []
    relevant: dict[str, dict[str, set[str]]] = {}
    for kind in KINDS:
        images = {}
        for row in queries[kind]:
            labels = zip(row["judgments"]["image_id"], row["judgments"]["label"], strict=True)
            if some := {str(image) for image, label in labels if label == 1}:
                images[str(row["query_id"])] = some
        relevant[kind] = images
        if without := len(queries[kind]) - len(images):
            notes.append(f"{without} {kind} queries have no relevant image and are left out")
    for name, run in runs.items():
        known = {query for images in relevant.values() for query in images}
        if not known & set(run):
            raise PredictorError(
                f"{name}: none of its queries is one of ConQA's, such as {sorted(known)[0]}; name "
                "queries by query_id"
            )
        silent = len(known - set(run))
        if silent:
            notes.append(f"{name} has no answer to {silent} queries, which count 0")
        values = {kind: _values(images, run) for kind, images in relevant.items()}
        for kind in KINDS:
            means = mean_intervals(values[kind])
            line: dict[str, Any] = {"run": name, "queries": f"{kind}, {len(relevant[kind])}"}
            for measure, mean in means.items():
                line[MEASURES[measure]] = (mean["mean"], mean["ci_low"], mean["ci_high"])
            rows.append(line)
        for measure, called in MEASURES.items():
            test = mann_whitney(values["conceptual"][measure], values["descriptive"][measure])
            better = {"descriptive over conceptual": test["relative_improvement"]}
            gaps.append({"run": name, "measure": called, "p": test["p_value"], **better})
    title = "Do conceptual queries do worse? (one-sided Mann-Whitney test)"
    return [
        Figures("conqa", "ConQA, means with 95 % intervals", ["run", "queries", *NAMES], rows),
        Figures("gap", title, ["run", "measure", "p", "descriptive over conceptual"], gaps),
    ], notes


def _values(relevant: Mapping[str, set[str]], run: Run) -> dict[str, NDArray[np.float64]]:
    """Return the measures of each query; one without an answer counts 0."""
    answered = [query for query in relevant if run.get(query)]
    if not answered:
        return dict.fromkeys(MEASURES, np.zeros(len(relevant)))
    scores = [list(run[query].values()) for query in answered]
    grades = [[int(image in relevant[query]) for image in run[query]] for query in answered]
    missed = [len(relevant[query] - set(run[query])) for query in answered]
    unretrieved = np.full((len(answered), max([1, *missed])), np.nan)
    for row, count in zip(unretrieved, missed, strict=True):
        row[:count] = 1
    by_measure = evaluate_rankings(scores, grades, list(MEASURES), unretrieved=unretrieved)
    at = {query: place for place, query in enumerate(answered)}
    return {
        measure: np.array([values[at[query]] if query in at else 0.0 for query in relevant])
        for measure, values in by_measure.items()
    }
