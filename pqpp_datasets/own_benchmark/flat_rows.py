"""What a foreign file is made into: flat rows, a dict an answer, and which column is which role.

A row has the fields of the file under their own names, nested ones with dots between, so that
`--columns ROLE=NAME` says of a foreign file what it says of a table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.options import BuildOptions

KIND_OF_ANSWER = {"label": "judgments", "choice": "preferences", "rank": "rankings"}
"""The role of an answer to the kind of file that has it."""
_NAMES = {
    "prompt": ("prompt", "caption", "text", "query", "description"),
    "model": ("model", "model_name", "generator", "system"),
    "image": ("image", "image_url", "image_path", "img", "url"),
    "choice": ("winner", "preferred", "preference", "chosen", "better"),
    "label": ("rating", "vote", "answer", "judgment"),
}
_SIDES = (("_a", "_b"), ("_0", "_1"), ("_1", "_2"), ("1", "2"), ("_left", "_right"))


@dataclass(frozen=True)
class FlatRows:
    """The rows of a foreign file.

    Attributes:
        kind: What they are, a key of `pqpp_datasets.own_benchmark.options.FILE_KINDS`.
        called: Role to column, where the user says nothing else.
        rows: Each with the place of its record, from 0, under `ROW`.
        notes: What is to be said of them, a line each; complete once the rows are read.
        scale: What the labels mean, where the format tells.
    """

    kind: str
    called: Mapping[str, str]
    rows: Iterable[Mapping[str, Any]]
    notes: list[str] = field(default_factory=list)
    scale: str | None = None


def flattened(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the fields of nested objects with dots between their names; lists stay.

    Example:
        >>> flattened({"meta": {"model": "flux"}, "tags": [1]})
        {'meta.model': 'flux', 'tags': [1]}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = isinstance(value, dict)
        flat |= flattened(value, f"{before}{name}.") if inner else {f"{before}{name}": value}
    return flat


def roles_in(names: Iterable[str]) -> dict[str, str]:
    """Return which columns are prompt, model and image, also of two sides, by their usual names.

    Example:
        >>> roles_in(["caption", "model_0", "model_1"])
        {'prompt': 'caption', 'model_a': 'model_0', 'model_b': 'model_1'}
    """
    there = set(names)
    usual = {role: [name for name in known if name in there] for role, known in _NAMES.items()}
    roles = {role: found[0] for role, found in usual.items() if found}
    for what in ("model", "image"):
        for sides in _SIDES:
            pair = [f"{what}{side}" for side in sides]
            if there.issuperset(pair):
                roles |= {f"{what}_a": pair[0], f"{what}_b": pair[1]}
                break
    return roles


def answered(
    rows: list[dict[str, Any]],
    questions: Mapping[str, str],
    options: BuildOptions,
    path: str,
    notes: Sequence[str] = (),
) -> FlatRows:
    """Return the rows of people's answers to the question that the user names, or the only one.

    Args:
        rows: Each with a column a question; of one that ranks, the ranked items from the best on.
        questions: Question to the role of its answers, of `KIND_OF_ANSWER`.
        options: With the user's `columns`.
        path: Of the file.
        notes: What is to be said already.

    Raises:
        DataFileError: Nobody answered, or there are several questions and none is named.
    """
    called = roles_in({name: None for row in rows for name in row})
    named = {role: name for role, name in options.columns.items() if role in KIND_OF_ANSWER}
    if named:
        role, question = next(iter(named.items()))
    elif options.models or options.annotators:
        role, question = "label", ""
    elif len(questions) == 1:
        ((question, role),) = questions.items()
        if role == "label" and {"model_a", "model_b"} <= called.keys():
            role = "choice"
        called[role] = question
    else:
        there = f"the questions {', '.join(questions)}" if questions else "no answer"
        raise DataFileError(
            f"{path}: it holds {there}; name the one to build from by `columns` label=NAME, or "
            "choice=NAME, or rank=NAME"
        )
    kind = KIND_OF_ANSWER[role]
    given = [row for row in rows if not question or row.get(question) is not None]
    notes = list(notes)
    if len(given) < len(rows):
        notes.append(f"{len(rows) - len(given)} of {len(rows)} answers lack {question}, left out")
    if kind != "rankings":
        return FlatRows(kind, called, given, notes)
    return FlatRows(kind, {**called, "model": "model"}, _ranked(given, question), notes)


def _ranked(rows: Iterable[dict[str, Any]], question: str) -> Iterator[dict[str, Any]]:
    """Give a row for each item that a row ranks, best first; an object in it brings columns."""
    for row in rows:
        items = row[question] if isinstance(row[question], list) else [row[question]]
        for place, item in enumerate(items, 1):
            own = dict(item) if isinstance(item, dict) else {"value": item}
            own.setdefault("model", own.get("value", own.get("id")))
            yield {**row, **own, question: own.get("rank", str(place))}
