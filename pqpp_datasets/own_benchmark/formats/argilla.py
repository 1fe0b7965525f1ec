"""Argilla 2: records as `to_json` writes them, or as `to_datasets` flattens them.

A record has the answers of several people to several questions: nested under `responses`, or in
the columns `<question>.responses`, `.responses.users` and `.responses.status`. Answers that are
drafts or were discarded are left out; the nested form does not tell which these are.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pqpp_datasets.own_benchmark.flat_rows import FlatRows, answered, flattened
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.table_formats.table_format import ROW

_RESPONSES = ".responses"
_NO_FIELDS = ("responses", "suggestions", "vectors", "fields", "metadata")


def argilla(records: Iterable[Mapping[str, Any]], options: BuildOptions, path: str) -> FlatRows:
    """Return a row for each person who answered a record."""
    rows: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    unsubmitted = 0
    for place, record in enumerate(records):
        fields = {**_fields(record), ROW: place}
        people: dict[str, dict[str, Any]] = {}
        for question, person, status, value in _responses(record):
            if status not in (None, "submitted"):
                unsubmitted += 1
            elif value is not None:
                questions.setdefault(question, "rank" if isinstance(value, list) else "label")
                people.setdefault(person, {**fields, "annotator": person})[question] = value
        rows.extend(people.values())
    notes = [f"Argilla: {unsubmitted} answers that were not submitted are left out"]
    return answered(rows, questions, options, path, notes if unsubmitted else ())


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    own = {
        name: value
        for name, value in record.items()
        if name not in _NO_FIELDS and _RESPONSES not in name and ".suggestion" not in name
    }
    return flattened({**own, **(record.get("metadata") or {}), **(record.get("fields") or {})})


def _responses(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None, Any]]:
    """Give question, person, status and value of each answer."""
    for question, responses in (record.get("responses") or {}).items():
        for response in responses or ():
            yield question, response.get("user_id"), response.get("status"), response.get("value")
    for column in record:
        if column.endswith(_RESPONSES) and record[column]:
            people, status = (record.get(f"{column}.{what}") for what in ("users", "status"))
            none = [None] * len(record[column])
            both = zip(people or none, status or none, record[column], strict=False)
            yield from ((column.removesuffix(_RESPONSES), *response) for response in both)
