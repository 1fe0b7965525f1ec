"""Mechanical Turk: the CSV of a batch's results.

`Input.*` are the fields of a HIT, `Answer.*` the answers of a worker: one a column, one a value
with true and false (`Answer.rating.4`), or all as JSON in `Answer.taskAnswers`. Rejected
assignments are left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.flat_rows import FlatRows, answered
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.table_formats.table_format import ROW

_IN, _OUT, _ALL = "Input.", "Answer.", "taskAnswers"


def mturk(records: Iterable[Mapping[str, Any]], options: BuildOptions, path: str) -> FlatRows:
    """Return a row an assignment."""
    rows: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    rejected = 0
    for place, record in enumerate(records):
        if record.get("AssignmentStatus") == "Rejected":
            rejected += 1
            continue
        answers = _answers(record, f"{path}, row {place + 1}")
        questions |= dict.fromkeys(answers, "label")
        fields = {k.removeprefix(_IN): v for k, v in record.items() if k.startswith(_IN)}
        person = {"annotator": record.get("WorkerId"), "seconds": record.get("WorkTimeInSeconds")}
        rows.append({**record, **fields, **person, **answers, ROW: place})
    notes = [f"Mechanical Turk: {rejected} rejected assignments are left out"] if rejected else ()
    return answered(rows, questions, options, path, notes)


def _answers(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a worker's answers by question."""
    given = {k.removeprefix(_OUT): v for k, v in record.items() if k.startswith(_OUT)}
    if _ALL in given:
        forms = parse_json(given.pop(_ALL), f"{where}: {_OUT}{_ALL}", DataFileError)
        given |= forms[0] if isinstance(forms, list) and forms else forms or {}
    answers: dict[str, Any] = {}
    for name, value in given.items():
        question, dot, word = name.rpartition(".")
        if isinstance(value, dict):
            answers[name] = _chosen(value)
        elif dot and str(value).lower() in ("true", "false", ""):
            if str(value).lower() == "true":
                answers[question] = word
        else:
            answers[name] = value
    return answers


def _chosen(value: Mapping[str, Any]) -> Any:
    """Return the one that is true of a group of buttons, or the only value of an object."""
    true = [word for word, on in value.items() if on is True]
    return true[0] if len(true) == 1 else value.get("label", next(iter(value.values()), None))
