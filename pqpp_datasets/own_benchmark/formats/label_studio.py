"""Label Studio: exports as JSON, JSON-MIN, CSV and TSV.

A task has `data` and several `annotations`, each of one person with results by the name of the tag
that they come from: a rating, a choice, a number, the better of a pair (left or right) or a ranker.
Annotations that were cancelled are left out. In JSON-MIN answers stand between `id` and
`annotator`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pqpp_datasets.own_benchmark.flat_rows import FlatRows, answered, flattened
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.table_formats.table_format import ROW

_ROLES = {
    **dict.fromkeys(("rating", "choices", "number", "text"), "label"),
    **{"selected": "choice", "ranker": "rank"},
}
"""The key of an answer in a result's `value`, to its role."""


def label_studio(
    records: Iterable[Mapping[str, Any]], options: BuildOptions, path: str
) -> FlatRows:
    """Return a row an annotation."""
    rows: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    cancelled = truths = 0
    for place, record in enumerate(records):
        annotations = record.get("annotations", record.get("completions"))
        if annotations is None:
            rows.append({**_minimal(record, questions), ROW: place})
            continue
        data = {**flattened(record.get("data") or {}), "task": record.get("id"), ROW: place}
        for annotation in annotations:
            if annotation.get("was_cancelled"):
                cancelled += 1
                continue
            truths += bool(annotation.get("ground_truth"))
            rows.append({**data, **_of_person(annotation), **_answers(annotation, questions, data)})
    notes = [f"Label Studio: {cancelled} cancelled annotations are left out"] if cancelled else []
    if truths:
        notes.append(
            f"Label Studio: {truths} annotations are ground truth and count as any other; "
            "`columns` control=ground_truth makes them those of the control group"
        )
    return answered(rows, questions, options, path, notes)


def _of_person(annotation: Mapping[str, Any]) -> dict[str, Any]:
    person = annotation.get("completed_by")
    if isinstance(person, dict):
        person = person.get("id", person.get("email"))
    return {
        "annotator": person,
        "seconds": annotation.get("lead_time"),
        "ground_truth": annotation.get("ground_truth"),
    }


def _answers(
    annotation: Mapping[str, Any], questions: dict[str, str], data: Mapping[str, Any]
) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for result in annotation.get("result") or ():
        name, value = result.get("from_name"), result.get("value") or {}
        key = next((key for key in _ROLES if key in value), None)
        if name and key:
            # A text is an answer where it is asked for, and no question of its own.
            if key != "text":
                questions.setdefault(name, _ROLES[key])
            answers[name] = _ranking(value[key], data) if key == "ranker" else _single(value[key])
    return answers


def _minimal(record: Mapping[str, Any], questions: dict[str, str]) -> dict[str, Any]:
    """Return a row of JSON-MIN or CSV, whose answers are lists of one where they are no choices."""
    names, row = list(record), dict(record)
    if {"id", "annotator"} <= record.keys():
        for name in names[names.index("id") + 1 : names.index("annotator")]:
            value = _single(record[name])
            key = next((key for key in _ROLES if isinstance(value, dict) and key in value), None)
            questions.setdefault(name, _ROLES[key] if key else "label")
            row[name] = _single(value[key]) if key else value
    return {**row, "seconds": record.get("lead_time")}


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _ranking(value: Any, data: Mapping[str, Any]) -> list[Any]:
    """Return the ranked items, best first, as the lists of the task describe them."""
    ranked = value.get("rank") or max(value.values(), key=len) if isinstance(value, dict) else value
    known = {
        item["id"]: item
        for cell in data.values()
        for item in (cell if isinstance(cell, list) else ())
        if isinstance(item, dict) and "id" in item
    }
    return [known.get(item, item) for item in ranked]
