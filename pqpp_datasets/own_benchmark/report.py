"""The quality report of a build."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from pqpp_datasets.own_benchmark.build import Built
from pqpp_datasets.target_columns import Target
from pqpp_files.render_page import render_page

_BINS = 12
_LABEL_NAMES = {2: "high relevance", 1: "low relevance", 0: "no relevance", -1: "unrealistic"}
_ANNOTATORS_SHOWN = 1000  # a page with all of a crowd would be too large to open


def quality_report(built: Built, name: str) -> str:
    """Return a self-contained HTML page on how a benchmark came about.

    It shows what is odd, the votes that count and their agreement, a thousand annotators with the
    reason for an exclusion, and a histogram of each target.
    """
    return render_page(
        Path(__file__).with_name("report.html"),
        name=name,
        options=built.options,
        warnings=built.warnings,
        splits={split: table.num_rows for split, table in built.splits.items()},
        generation=built.generation and _generation_facts(built),
        retrieval=built.retrieval and _retrieval_facts(built),
        preferences=built.preferences,
        histograms=[_histogram(built, target) for target in built.targets],
    )


def _generation_facts(built: Built) -> dict:
    generation = built.generation
    total = max(1, sum(generation.labels.values()))
    ordered = sorted(generation.annotators, key=lambda a: (bool(a.reasons), -(a.kappa or 0.0)))
    return {
        "votes": generation.votes,
        "notes": generation.notes,
        "votes_used": generation.votes_used,
        "control_group": generation.control_group,
        "fleiss_kappa": generation.fleiss_kappa,
        "annotators": ordered[:_ANNOTATORS_SHOWN],
        "all_annotators": len(ordered),
        "admitted": sum(not a.reasons for a in ordered),
        "labels": [
            (_label_name(label, generation.table.scale.name), count, 100 * count / total)
            for label, count in generation.labels.items()
        ],
    }


def _label_name(value: float, scale: str) -> str:
    return _LABEL_NAMES[int(value)] if scale == "pqpp" else f"{value:g}"


def _retrieval_facts(built: Built) -> dict:
    relevant = built.retrieval.relevant
    return {
        "results": built.retrieval.results,
        "votes": built.retrieval.votes,
        "queries": len(relevant),
        "mean_relevant": float(relevant.mean()) if len(relevant) else math.nan,
        "without": int((relevant == 0).sum()),
    }


def _histogram(built: Built, target: Target) -> dict:
    column = pa.chunked_array([c for t in built.splits.values() for c in t[target.name].chunks])
    values = column.drop_null().to_numpy()
    counts, edges = np.histogram(values, bins=_BINS, range=target.limits)
    top = max(1, int(counts.max()))
    return {
        "target": target.name,
        "count": len(values),
        "missing": column.null_count,
        "mean": float(values.mean()) if len(values) else math.nan,
        "sd": float(values.std()) if len(values) else math.nan,
        "bars": [
            {"low": edges[n], "high": edges[n + 1], "count": int(c), "height": 100 * c / top}
            for n, c in enumerate(counts)
        ],
    }
