"""Readers of votes in the formats of other tools, one function per format.

Rows have the fields of the file under their original names, with dots in nested names, so that
`--columns ROLE=NAME` works as for a table.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.foreign.json_values import parse_json, read_json
from pqpp_files.table_formats import ROW, locate_row, normalize_column_name

Record = Mapping[str, Any]
WORDS = read_json(Path(__file__).with_name("words.json"))
"""Common names of columns, answers and labels, and the columns that identify a tool."""


@dataclass(frozen=True)
class FlatRows:
    """The rows of another tool's file.

    Attributes:
        kind: The kind of rows, a key of `pqpp_datasets.own_benchmark.options.FILE_KINDS`.
        columns: Default column names by role.
        rows: The rows; their column `ROW` is the number of the record.
        scale: `BuildOptions.scale` of the labels, if the format defines it.
        unread_columns: Names of the file's columns that were not read.
    """

    kind: str
    columns: Mapping[str, str]
    rows: Sequence[Record]
    notes: Sequence[str] = ()
    scale: str | None = None
    path: Path = Path()
    unread_columns: Sequence[str] = ()


@dataclass(frozen=True)
class FormAnswers:
    """Answers to the questions of a form, one row per annotator and record.

    Attributes:
        rows: Rows with one column per question; rankings are lists of items, best first.
        questions: Role of the answers to each question: `label`, `choice` or `rank`.
    """

    rows: list[dict[str, Any]]
    questions: Mapping[str, str]
    notes: Sequence[str] = ()


def flatten_record(record: Record, prefix: str = "") -> dict[str, Any]:
    """Flatten nested objects by joining names with dots; lists are unchanged.

    Example:
        >>> flatten_record({"meta": {"model": "flux"}, "tags": [1]})
        {'meta.model': 'flux', 'tags': [1]}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        path = f"{prefix}{name}"
        flat |= flatten_record(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return flat


def find_role_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the columns with common names, such as prompt, model and image, by role.

    Example:
        >>> find_role_columns(["caption", "model_0", "model_1"])
        {'prompt': 'caption', 'model_a': 'model_0', 'model_b': 'model_1'}
    """
    columns = {normalize_column_name(name): name for name in names}
    roles: dict[str, str] = {}
    for role, aliases in WORDS["columns"].items():
        if keys := [key for key in map(normalize_column_name, aliases) if key in columns]:
            roles[role] = columns[keys[0]]
    for noun, sides in itertools.product(("model", "image"), WORDS["sides"]):
        first, second = (columns.get(f"{noun}{side}") for side in sides)
        if first and second and f"{noun}_a" not in roles:
            roles |= {f"{noun}_a": first, f"{noun}_b": second}
    return roles


_NESTED = ("responses", "suggestions", "vectors", "fields", "metadata")


def from_argilla(records: Sequence[Record], path: str) -> FormAnswers:
    """Read records of Argilla 2, as `to_json` or `to_datasets` writes them.

    Answers are nested under `responses`, or in the columns `<question>.responses`,
    `<question>.responses.users` and `<question>.responses.status`. Drafts and discarded answers are
    left out, except in the nested form, which does not mark them.
    """
    rows: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    unsubmitted = 0
    for record in records:
        fields_of_record = {
            name: value
            for name, value in record.items()
            if name not in _NESTED and ".responses" not in name and ".suggestion" not in name
        }
        fields_of_record |= (record.get("metadata") or {}) | (record.get("fields") or {})
        fields = flatten_record(fields_of_record)
        rows_by_user: dict[str, dict[str, Any]] = {}
        for question, person, status, value in _list_argilla_responses(record):
            if status not in (None, "submitted"):
                unsubmitted += 1
            elif value is not None:
                questions.setdefault(question, "rank" if isinstance(value, list) else "label")
                rows_by_user.setdefault(person, {**fields, "annotator": person})[question] = value
        rows.extend(rows_by_user.values())
    notes = [f"Argilla: skipped {unsubmitted} answers that were not submitted"]
    return FormAnswers(rows, questions, notes if unsubmitted else ())


def _list_argilla_responses(record: Record) -> Iterator[tuple[str, str, str | None, Any]]:
    """Yield question, annotator, status (None if unknown) and value of each answer."""
    for question, responses in (record.get("responses") or {}).items():
        for response in responses or ():
            yield question, response.get("user_id"), response.get("status"), response.get("value")
    for column, values in record.items():
        if column.endswith(".responses") and values:
            blank = [None] * len(values)
            users, status = (record.get(f"{column}.{key}") or blank for key in ("users", "status"))
            responses = zip(users, status, values, strict=False)
            yield from ((column.removesuffix(".responses"), *response) for response in responses)


_IMAGE_LISTS = ("image_path", "file_path", "image_paths", "generations")


def from_hpd(records: Sequence[Record], path: str) -> FlatRows:
    """Read the Human Preference Dataset, versions 1 to 3.

    Version 1 has several images and the index of the chosen one; version 2 has a 1 for each
    preferred image, or a rank per image (1 is best); version 3 has two images, the better image
    first, with their models and the number of people who chose each image (`choice_dist`). Versions
    1 and 2 do not name the models; `--model-pattern` reads them from the names of the images.
    """
    names = {name for record in records for name in record}
    annotator_column = {"annotator": "user_hash"}
    if "path1" in names:
        sides = {"image_a": "path1", "image_b": "path2", "model_a": "model1", "model_b": "model2"}
        if any(int(n) > 100 for record in records for n in record.get("choice_dist") or ()):
            raise BenchmarkError(f"{path}: choice_dist has a count above 100; correct the file")
        choices = [
            {**record, "choice": word}
            for record in records
            for word, count in zip("ab", record.get("choice_dist") or [1, 0], strict=False)
            for _ in range(int(count))
        ]
        return FlatRows("preferences", sides, choices)
    if "human_preference" in names:
        return FlatRows("preferences", annotator_column, [*_list_pairs(records, path)])
    if "rank" in names:
        return FlatRows("rankings", annotator_column, [*_list_ranked_images(records, "rank", path)])
    raise BenchmarkError(f"{path}: expected a column human_preference, rank or path1 (HPD)")


def _pair_judgments(record: Record, judgments: Any, path: str) -> list[tuple[str, Any]]:
    """Pair each image with its judgment; the index of an image becomes a flag for each image."""
    images: Sequence[str] = next((record[name] for name in _IMAGE_LISTS if record.get(name)), [])
    if not isinstance(judgments, list):  # the index of the chosen image
        judgments = [n == int(judgments) for n in range(len(images))]
    if not len(images) == len(judgments) <= 200:
        fault = f"expected one judgment per image, up to 200 ({len(images)}), got {len(judgments)}"
        raise BenchmarkError(f"{locate_row(path, record[ROW])}: {fault}; correct the record")
    return list(zip(images, judgments, strict=True))


def _list_pairs(records: Iterable[Record], path: str) -> Iterator[Record]:
    for record in records:
        judgments = _pair_judgments(record, record["human_preference"], path)
        wins = [(image, int(won)) for image, won in judgments]
        for (image, won), (other, other_won) in itertools.combinations(wins, 2):
            # Images that were not chosen among several were not compared with each other.
            if won != other_won or len(wins) == 2:
                word = "tie" if won == other_won else "a" if won > other_won else "b"
                yield {**record, "image_a": image, "image_b": other, "choice": word}


def _list_ranked_images(records: Iterable[Record], column: str, path: str) -> Iterator[Record]:
    for record in records:
        for image, rank in _pair_judgments(record, record.get(column) or [], path):
            yield {**record, "image": image, "rank": rank}


def from_imagereward(records: Sequence[Record], path: str) -> FlatRows:
    """Read ImageReward's rankings of a prompt's `generations`, or the ratings of ImageRewardDB.

    `ranking` has a rank for each generation (1 is best, ties allowed). ImageRewardDB has one row
    per image with three ratings from 1 to 7; `overall_rating` is read by default. The files do not
    name the models; use `--model-name` or `--model-pattern`.
    """
    if any("generations" in record for record in records):
        columns = {"image": "image", "rank": "rank"}
        return FlatRows("rankings", columns, [*_list_ranked_images(records, "ranking", path)])
    columns = {"prompt": "prompt", "image": "image_path", "label": "overall_rating"}
    return FlatRows("judgments", columns, records, scale="1..7")


_LABEL_STUDIO_ROLES = WORDS["answers"]
"""Role of an answer, by its key in a result's `value`."""


def from_label_studio(records: Sequence[Record], path: str) -> FormAnswers:
    """Read Label Studio's exports in JSON, JSON-MIN, CSV or TSV.

    A task has `data` and several `annotations`, each by one annotator with results by tag name: a
    rating, a choice, a number, the better image of a pair (left or right) or a ranking. Cancelled
    annotations are left out. In JSON-MIN, answers are the fields between `id` and `annotator`.
    """
    rows: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    cancelled = truths = 0
    for record in records:
        annotations = record.get("annotations", record.get("completions"))
        if annotations is None:
            rows.append(_read_json_min(record, questions))
            continue
        task = {"task": record.get("id"), ROW: record[ROW]}
        data = {**flatten_record(record.get("data") or {}), **task}
        for annotation in annotations:
            if annotation.get("was_cancelled"):
                cancelled += 1
                continue
            truths += bool(annotation.get("ground_truth"))
            person = annotation.get("completed_by")
            if isinstance(person, dict):
                person = person.get("id", person.get("email"))
            details = {"annotator": person, "seconds": annotation.get("lead_time")}
            details["ground_truth"] = annotation.get("ground_truth")
            rows.append({**data, **details, **_read_answers(annotation, questions, data)})
    notes = [f"Label Studio: skipped {cancelled} cancelled annotations"] if cancelled else []
    if truths:
        remedy = "set `columns` control=ground_truth to make their annotators control members"
        notes.append(f"Label Studio: {truths} ground truth annotations count as votes; {remedy}")
    return FormAnswers(rows, questions, notes)


def _read_answers(annotation: Record, questions: dict[str, str], data: Record) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for result in annotation.get("result") or ():
        name, value = str(result.get("from_name") or ""), result.get("value") or {}
        key = next((key for key in _LABEL_STUDIO_ROLES if key in value), None)
        if name and key:
            # Texts are answers only if the user names their question.
            if key != "text":
                questions.setdefault(name, _LABEL_STUDIO_ROLES[key])
            answers[name] = (
                _read_ranking(value[key], data) if key == "ranker" else _unwrap_single(value[key])
            )
    return answers


def _read_json_min(record: Record, questions: dict[str, str]) -> dict[str, Any]:
    """Convert a record of JSON-MIN, CSV or TSV to a row, and add its questions to `questions`."""
    names, row = list(record), {**record, "seconds": record.get("lead_time")}
    if {"id", "annotator"} <= record.keys():
        for name in names[names.index("id") + 1 : names.index("annotator")]:
            value = record[name]
            if isinstance(value, str) and value.startswith(("[", "{")):
                value = parse_json(value, f"{name} {value:.40}", BenchmarkError)
            value = _unwrap_single(value)
            answers = value if isinstance(value, dict) else {}
            key = next((key for key in _LABEL_STUDIO_ROLES if key in answers), None)
            questions.setdefault(name, _LABEL_STUDIO_ROLES[key] if key else "label")
            row[name] = _unwrap_single(answers[key]) if key else value
    return row


def _unwrap_single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _read_ranking(value: Any, data: Record) -> list[Any]:
    """Return the ranked items, best first; ids are replaced by the items of the task's lists."""
    if isinstance(value, dict):
        value = value.get("rank") or max(value.values(), key=len)
    lists = (cell for cell in data.values() if isinstance(cell, list))
    items = (item for cell in lists for item in cell if isinstance(item, dict))
    item_of_id = {item["id"]: item for item in items if "id" in item}
    return [item_of_id.get(item, item) for item in value]


def from_mturk(records: Sequence[Record], path: str) -> FormAnswers:
    """Read the CSV results of a Mechanical Turk batch.

    `Input.*` are the fields of a HIT and `Answer.*` the answers of a worker: one column per
    question, one true-or-false column per possible answer (`Answer.rating.4`), or JSON in
    `Answer.taskAnswers`. Rejected assignments are left out.
    """
    rows: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    rejected = 0
    for record in records:
        if record.get("AssignmentStatus") == "Rejected":
            rejected += 1
            continue
        inputs, answer_cells = (
            {name.removeprefix(prefix): record[name] for name in record if name.startswith(prefix)}
            for prefix in ("Input.", "Answer.")
        )
        answers = _read_worker_answers(answer_cells, locate_row(path, record[ROW]))
        questions |= dict.fromkeys(answers, "label")
        worker = {"annotator": record.get("WorkerId"), "seconds": record.get("WorkTimeInSeconds")}
        rows.append({**record, **inputs, **worker, **answers})
    notes = [f"Mechanical Turk: skipped {rejected} rejected assignments"] if rejected else ()
    return FormAnswers(rows, questions, notes)


def _read_worker_answers(cells: dict[str, Any], location: str) -> dict[str, Any]:
    if "taskAnswers" in cells:
        text = cells.pop("taskAnswers")
        forms = parse_json(text, f"{location}: Answer.taskAnswers", BenchmarkError)
        cells |= forms[0] if isinstance(forms, list) and forms else forms or {}
    answers: dict[str, Any] = {}
    for name, value in cells.items():
        question, dot, word = name.rpartition(".")
        if isinstance(value, dict):  # radio buttons, one of which is true, or a single value
            chosen = [word for word, is_chosen in value.items() if is_chosen is True]
            single_value = value.get("label", next(iter(value.values()), None))
            answers[name] = chosen[0] if len(chosen) == 1 else single_value
        elif dot and str(value).lower() in ("true", "false", ""):
            if str(value).lower() == "true":
                answers[question] = word
        else:
            answers[name] = value
    return answers


_PICKAPIC: dict[str, str] = WORDS["pickapic"]


def from_pickapic(records: Sequence[Record], path: str) -> FlatRows:
    """Read Pick-a-Pic's preferences; `label_0` is 1 if the first image won, 0.5 for a tie, else 0.

    Rows without a label are left out; the images in `jpg_0` and `jpg_1` are not read.
    """
    labelled = [row for row in records if row.get("has_label") not in (False, "false", "False")]
    unlabelled = len(records) - len(labelled)
    notes = [f"Pick-a-Pic: skipped {unlabelled} rows without a label"] if unlabelled else []
    return FlatRows("preferences", _PICKAPIC, labelled, notes)


FORMATS: dict[str, Callable[[Sequence[Record], str], FlatRows | FormAnswers]] = {
    "argilla": from_argilla,
    "hpd": from_hpd,
    "imagereward": from_imagereward,
    "label-studio": from_label_studio,
    "mturk": from_mturk,
    "pickapic": from_pickapic,
}
"""The function that reads the records of each format; its second argument is the path."""
READ_COLUMNS = {"pickapic": (*_PICKAPIC.values(), "has_label")}
"""Columns to read, by format; all columns are read for other formats."""
