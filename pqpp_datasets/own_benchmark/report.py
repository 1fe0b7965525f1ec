"""The quality report of a build."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pqpp_datasets.own_benchmark.build import Built
from pqpp_datasets.own_benchmark.generation import Generation, annotators_of
from pqpp_datasets.own_benchmark.retrieval import Retrieval
from pqpp_datasets.own_benchmark.votes.preferences import Preferences
from pqpp_datasets.target_columns import Target
from pqpp_files.render_page import render_page

_BINS = 12
_LABEL_NAMES = {2: "high relevance", 1: "low relevance", 0: "no relevance", -1: "unrealistic"}
_ANNOTATORS_SHOWN = 1000  # a page with all of a crowd would be too large to open


def quality_report(
    built: Built,
    name: str,
    called: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
) -> str:
    """Return a self-contained HTML page on how a benchmark came about.

    It shows what is odd, the votes that count, how far they agree and can be relied on, a thousand
    annotators with the reason for a flag or an exclusion, and a histogram of each target.

    Args:
        built: The benchmark.
        name: Of it.
        called: What the annotators are called; their names if left out.
        voters: Likewise those of preferences.
    """
    return render_page(
        Path(__file__).with_name("report.html"),
        name=name,
        options=built.options,
        warnings=built.warnings,
        splits={split: table.num_rows for split, table in built.splits.items()},
        generation=built.generation and _generation_facts(built, built.generation, called),
        retrieval=built.retrieval and _retrieval_facts(built.retrieval),
        preferences=built.preferences,
        voters=built.preferences and _voters(built.preferences, voters),
        histograms=[_histogram(built, target) for target in built.targets],
    )


def _generation_facts(built: Built, generation: Generation, called: Sequence[str] | None) -> dict:
    called = called or generation.table.annotator_names
    total = max(1, sum(generation.labels.values()))
    ordered = _annotators(built, generation, called)
    return {
        "votes": generation.votes,
        "notes": generation.notes,
        "votes_used": generation.votes_used,
        "control_group": [one["name"] for one in ordered if one["member"]],
        "trust": generation.trust,
        "agreements": generation.agreements,
        "annotators": ordered[:_ANNOTATORS_SHOWN],
        "shown": min(len(ordered), _ANNOTATORS_SHOWN),
        "people": len(ordered),
        "all_annotators": len(generation.annotators),
        "admitted": sum(not a.reasons for a in generation.annotators),
        "labels": [
            (_label_name(label, generation.table.scale.name), count, 100 * count / total)
            for label, count in generation.labels.items()
        ],
    }


def _annotators(built: Built, generation: Generation, called: Sequence[str]) -> list[dict]:
    """Return a row for each annotator: first who is not admitted or flagged, last the control."""
    facts, votes = generation.agreements, generation.table
    if facts is None:
        return []
    judged = annotators_of(votes, facts, built.options, called)
    known = {one.name: one for one in judged}
    rows: list[dict[str, Any]] = []
    for number in np.flatnonzero(np.bincount(votes.annotator, minlength=len(called))).tolist():
        one = known.get(called[number])
        rows.append(
            {
                "name": called[number],
                "member": one is None,
                "votes": one.votes if one else int(facts.votes[number]),
                "agreement": float(facts.agreement[number]) + 0.0,
                "error": float(facts.error[number]),
                "undecided": bool(facts.undecided[number]),
                "label": _label_name(facts.label[number], votes.scale.name),
                "share": float(facts.share[number]),
                "seconds": None if facts.seconds is None else float(facts.seconds[number]),
                "kappa": one and one.kappa,
                "control_images": one and one.control_images,
                "reference_share": one and one.reference_share,
                "flag": facts.reasons[number],
                "reasons": one.reasons if one else (),
            }
        )
    rows.sort(key=lambda row: (len(row["name"]), row["name"]))  # not as the votes name them
    return sorted(
        rows, key=lambda r: (r["member"], not r["reasons"], not r["flag"], -(r["kappa"] or 0.0))
    )


def _voters(preferences: Preferences, called: Sequence[str] | None) -> list[dict]:
    """Return a row for each voter on pairs, those who are flagged first."""
    facts = preferences.agreements
    if facts is None:
        return []
    names = called or preferences.choices.annotator_names
    rows: list[dict[str, Any]] = [
        {
            "name": names[place],
            "votes": int(facts.shared.votes[place]),
            "agreement": float(facts.shared.agreement[place]) + 0.0,
            "majority": float(facts.majority[place]),
            "first": float(facts.first[place]),
            "ties": float(facts.ties[place]),
            "undecided": bool(facts.shared.undecided[place]),
            "flag": facts.reasons[place],
        }
        for place in np.flatnonzero(facts.shared.votes).tolist()
    ]
    rows.sort(key=lambda row: (not row["flag"], len(row["name"]), row["name"]))
    return rows[:_ANNOTATORS_SHOWN]


def _label_name(value: float, scale: str) -> str:
    named = scale == "pqpp" and value in _LABEL_NAMES  # means of repeated votes have no name
    return _LABEL_NAMES[int(value)] if named else f"{value:g}"


def _retrieval_facts(retrieval: Retrieval) -> dict:
    relevant = retrieval.relevant
    return {
        "results": retrieval.results,
        "votes": retrieval.votes,
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
