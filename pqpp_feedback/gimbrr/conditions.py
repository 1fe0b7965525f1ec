"""The conditions that an image must meet for its GIMBRR prompt.

A new task is a function from a prompt's task to conditions, and a name in `TASK_CONDITIONS`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pqpp_feedback.assess.values import parse_list
from pqpp_feedback.errors import FeedbackError

# Columns of the prompts of `gimbrr`.
ASKED_COLUMNS = ("task", "representations", "task_specific_label", "auto_assessment")

# The role of the model that checks each kind of condition.
ROLES = {"shows": "clip", "lacks": "clip", "counts": "detector"}


@dataclass(frozen=True)
class Task:
    """The task of a prompt.

    Attributes:
        objects: The names in `representations`, in order.
        label: `task_specific_label`: counts, or what must be absent; may be empty.
        is_automatic: Whether the dataset marks the prompt as suitable for automatic assessment.
    """

    task: str
    objects: tuple[str, ...]
    label: str
    is_automatic: bool


def parse_task(about: Mapping[str, Any]) -> Task:
    """Return the task of a prompt; letter case is ignored, and 3.0 is read as 3.

    Args:
        about: The prompt's `ASKED_COLUMNS`; objects are a list, or separated by commas.

    Example:
        >>> parse_task({"task": "Counting", "representations": "Apple ", "task_specific_label": 5})
        Task(task='Counting', objects=('apple',), label='5', is_automatic=True)
    """
    label, is_automatic = about.get("task_specific_label"), about.get("auto_assessment")
    task = str(about.get("task") or "").strip()
    names = {name.lower(): name for name in TASK_CONDITIONS}
    label = "" if label is None or label != label else str(label).strip().lower()  # None or NaN
    return Task(
        task=names.get(task.lower(), task),
        objects=tuple(name.lower() for name in parse_list(about.get("representations"), ",")),
        label=re.sub(r"(?<=\d)\.0+(?![^,\s])", "", label),
        is_automatic=str(is_automatic).lower() not in ("false", "0"),
    )


@dataclass(frozen=True)
class Condition:
    """One requirement of a prompt.

    Attributes:
        kind: A key of `ROLES`: whether the image must show an object, must not show it, or must
            show `count` of it.
        name: The object.
        others: Other objects of the prompt, which are not distractors of this object.
        count: The required number, for `counts`.

    Example:
        >>> ROLES[Condition("counts", "cat", count=3).kind]
        'detector'
    """

    kind: str
    name: str
    others: tuple[str, ...] = ()
    count: int = 0


Conditions = Sequence[Condition]


def make_shown_conditions(task: Task) -> list[Condition]:
    """Return one condition per object; the prompt's other objects are not distractors.

    Example:
        >>> task = Task("", ("cow", "cup"), "", True)
        >>> [condition.others for condition in make_shown_conditions(task)]
        [('cup',), ('cow',)]
    """
    return [
        Condition("shows", name, tuple(other for other in task.objects if other != name))
        for name in task.objects
    ]


def make_absent_conditions(task: Task) -> list[Condition]:
    """Return the conditions that the objects are shown and that the label's object is absent.

    Raises:
        FeedbackError: The label names no object.

    Example:
        >>> task = Task("Negation", ("street",), "cow", True)
        >>> [condition.kind for condition in make_absent_conditions(task)]
        ['shows', 'lacks']
    """
    if not task.label:
        raise FeedbackError("`task_specific_label` is empty; write the object that must be absent")
    objects = [Condition("shows", name, (task.label,)) for name in task.objects]
    return [*objects, Condition("lacks", task.label, task.objects)]


def make_count_conditions(task: Task) -> list[Condition]:
    """Return one count condition per object, from a label like `5`, `3,6` or `3, 6`.

    Raises:
        FeedbackError: The label does not give a whole number for each object.

    Example:
        >>> asked = Task("Simple arithmetic", ("cat", "dog"), "3, 6", True)
        >>> [condition.count for condition in make_count_conditions(asked)]
        [3, 6]
    """
    counts = [part.strip() for part in task.label.split(",")]
    if len(counts) != len(task.objects) or not all(count.isdecimal() for count in counts):
        names = ", ".join(task.objects)
        raise FeedbackError(f"`task_specific_label` must have one count for each of {names}")
    pairs = zip(task.objects, counts, strict=True)
    return [Condition("counts", name, count=int(count)) for name, count in pairs]


TASK_CONDITIONS: dict[str, Callable[[Task], Conditions]] = {
    "Single object": make_shown_conditions,
    "Multiple objects": make_shown_conditions,
    "Negation": make_absent_conditions,
    "Conditional generation": make_absent_conditions,
    "Counting": make_count_conditions,
    "Simple arithmetic": make_count_conditions,
    "Controlled single object": make_shown_conditions,
    "Controlled multiple objects": make_shown_conditions,
    "Controlled single object counting": make_count_conditions,
    "Controlled multiple object counting": make_count_conditions,
    "Controlled arithmetic": make_count_conditions,
}


def make_conditions(task: Task) -> Conditions | str:
    """Return the conditions for a prompt, or the reason why there are none.

    Example:
        >>> asked = Task("Negation", ("street",), "cow", True)
        >>> [(condition.kind, condition.name) for condition in make_conditions(asked)]
        [('shows', 'street'), ('lacks', 'cow')]
        >>> make_conditions(Task("Chimeras", ("rabbit",), "", False))
        "the task 'Chimeras' has no routine"
    """
    if task.task not in TASK_CONDITIONS:
        return f"the task {task.task!r} has no routine" if task.task else "no task is named"
    if not task.objects:
        return "the prompt has no object in `representations`"
    if not task.is_automatic and task.task == "Conditional generation":
        return "the prompt is marked as unsuitable for automatic assessment"
    try:
        return TASK_CONDITIONS[task.task](task)
    except ValueError as error:  # an invalid label must not stop other prompts
        return str(error)
