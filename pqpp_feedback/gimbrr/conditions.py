"""What a prompt of GIMBRR asks for, and what must then hold of its image, one by one.

A new task is a function from what is asked to conditions, and a name in `TASK_CONDITIONS`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pqpp_feedback.assess.values import listed
from pqpp_feedback.errors import FeedbackError

# Of a table of prompts, as `gimbrr` has them.
ASKED_COLUMNS = ("task", "representations", "task_specific_label", "auto_assessment")

# Each kind of condition, and the eye that it needs.
EYE_OF = {"shows": "clip", "lacks": "clip", "counts": "detector"}


@dataclass(frozen=True)
class Asked:
    """What a prompt asks for.

    Attributes:
        task: Its task.
        objects: The names in `representations`, in order.
        label: `task_specific_label`: counts, or what shall be absent; empty where there is none.
        is_automatic: Whether the directory says that the prompt can be assessed automatically.
    """

    task: str
    objects: tuple[str, ...]
    label: str
    is_automatic: bool


def asked_of(about: Mapping[str, Any]) -> Asked:
    """Return what a prompt asks for; a task in any letters, a number like 3.0 as 3.

    Args:
        about: Its `ASKED_COLUMNS`; objects as `listed` reads them, with commas between.

    Example:
        >>> asked_of({"task": "Counting", "representations": "Apple ", "task_specific_label": 5})
        Asked(task='Counting', objects=('apple',), label='5', is_automatic=True)
    """
    label, marked = about.get("task_specific_label"), about.get("auto_assessment")
    task = str(about.get("task") or "").strip()
    known = {name.lower(): name for name in TASK_CONDITIONS}
    label = "" if label is None or label != label else str(label).strip().lower()  # NaN is none
    return Asked(
        task=known.get(task.lower(), task),
        objects=tuple(name.lower() for name in listed(about.get("representations"), ",")),
        label=re.sub(r"(?<=\d)\.0+(?![^,\s])", "", label),
        is_automatic=str(marked).lower() not in ("false", "0"),
    )


@dataclass(frozen=True)
class Condition:
    """One thing that must hold.

    Attributes:
        kind: One of `EYE_OF`: the image shows an object, lacks it, or has so many of it.
        name: Of the object.
        beside: Other objects of the prompt, which are no rivals of this one.
        count: How many, of `counts`.

    Example:
        >>> EYE_OF[Condition("counts", "cat", count=3).kind]
        'detector'
    """

    kind: str
    name: str
    beside: tuple[str, ...] = ()
    count: int = 0


Conditions = Sequence[Condition]


def objects_shown(asked: Asked) -> list[Condition]:
    """Return a condition an object, the others of the prompt being no rivals.

    Example:
        >>> [condition.beside for condition in objects_shown(Asked("", ("cow", "cup"), "", True))]
        [('cup',), ('cow',)]
    """
    return [
        Condition("shows", name, tuple(other for other in asked.objects if other != name))
        for name in asked.objects
    ]


def absent(asked: Asked) -> list[Condition]:
    """Return that the objects are shown and the label's is not; they are no rivals of it.

    Raises:
        FeedbackError: Nothing is to be absent.

    Example:
        >>> [condition.kind for condition in absent(Asked("Negation", ("street",), "cow", True))]
        ['shows', 'lacks']
    """
    if not asked.label:
        raise FeedbackError("the prompt names nothing to be absent in `task_specific_label`")
    objects = [Condition("shows", name, (asked.label,)) for name in asked.objects]
    return [*objects, Condition("lacks", asked.label, asked.objects)]


def objects_counted(asked: Asked) -> list[Condition]:
    """Return that there are so many of each object, by a label `5`, `3,6` or `3, 6`.

    Raises:
        FeedbackError: The label says no whole number for each object.

    Example:
        >>> asked = Asked("Simple arithmetic", ("cat", "dog"), "3, 6", True)
        >>> [condition.count for condition in objects_counted(asked)]
        [3, 6]
    """
    counts = [part.strip() for part in asked.label.split(",")]
    if len(counts) != len(asked.objects) or not all(count.isdecimal() for count in counts):
        names = ", ".join(asked.objects)
        raise FeedbackError(f"the label {asked.label!r:.40} has no number for each of {names}")
    pairs = zip(asked.objects, counts, strict=True)
    return [Condition("counts", name, count=int(count)) for name, count in pairs]


TASK_CONDITIONS: dict[str, Callable[[Asked], Conditions]] = {
    "Single object": objects_shown,
    "Multiple objects": objects_shown,
    "Negation": absent,
    "Conditional generation": absent,
    "Counting": objects_counted,
    "Simple arithmetic": objects_counted,
    "Controlled single object": objects_shown,
    "Controlled multiple objects": objects_shown,
    "Controlled single object counting": objects_counted,
    "Controlled multiple object counting": objects_counted,
    "Controlled arithmetic": objects_counted,
}


def conditions_of(asked: Asked) -> Conditions | str:
    """Return what must hold, or why that cannot be told.

    Example:
        >>> asked = Asked("Negation", ("street",), "cow", True)
        >>> [(condition.kind, condition.name) for condition in conditions_of(asked)]
        [('shows', 'street'), ('lacks', 'cow')]
        >>> conditions_of(Asked("Chimeras", ("rabbit",), "", False))
        "the task 'Chimeras' has no routine"
    """
    if asked.task not in TASK_CONDITIONS:
        return f"the task {asked.task!r} has no routine" if asked.task else "no task is named"
    if not asked.objects:
        return "the prompt has no object in `representations`"
    if not asked.is_automatic and asked.task == "Conditional generation":
        return "the directory marks this prompt as one for people"
    try:
        return TASK_CONDITIONS[asked.task](asked)
    except ValueError as error:  # a label that says nothing, of this prompt alone
        return str(error)
