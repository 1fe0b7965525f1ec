"""The tasks that have a routine: each is a function from what is asked to conditions.

A new task is a function in a file, and a line here (or in a program: `TASKS[name] = place`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from pqpp_feedback.gimbrr.asked import Asked
from pqpp_feedback.gimbrr.conditions import Condition

TASKS = {
    "Single object": "pqpp_feedback.gimbrr.tasks.objects:conditions",
    "Multiple objects": "pqpp_feedback.gimbrr.tasks.objects:conditions",
    "Negation": "pqpp_feedback.gimbrr.tasks.absence:conditions",
    "Conditional generation": "pqpp_feedback.gimbrr.tasks.absence:conditions",
    "Counting": "pqpp_feedback.gimbrr.tasks.counts:conditions",
    "Simple arithmetic": "pqpp_feedback.gimbrr.tasks.counts:conditions",
    "Controlled single object": "pqpp_feedback.gimbrr.tasks.objects:conditions",
    "Controlled multiple objects": "pqpp_feedback.gimbrr.tasks.objects:conditions",
    "Controlled single object counting": "pqpp_feedback.gimbrr.tasks.counts:conditions",
    "Controlled multiple object counting": "pqpp_feedback.gimbrr.tasks.counts:conditions",
    "Controlled arithmetic": "pqpp_feedback.gimbrr.tasks.counts:conditions",
}
"""Task to where its function is, as `module:function`."""


def conditions_of(asked: Asked) -> Sequence[Condition] | str:
    """Return what must hold, or why that cannot be told.

    Example:
        >>> asked = Asked("Negation", ("street",), "cow", True)
        >>> [(one.kind, one.name) for one in conditions_of(asked)]
        [('shows', 'street'), ('lacks', 'cow')]
        >>> conditions_of(Asked("Chimeras", ("rabbit",), "", False))
        "the task 'Chimeras' has no routine"
    """
    if asked.task not in TASKS:
        return f"the task {asked.task!r} has no routine" if asked.task else "no task is named"
    if not asked.objects:
        return "the prompt names no object in `representations`"
    if not asked.is_automatic and asked.task == "Conditional generation":
        return "the directory marks this prompt as one for people"
    place, _, name = TASKS[asked.task].partition(":")
    function: Callable[[Asked], Sequence[Condition]] = getattr(importlib.import_module(place), name)
    try:
        return function(asked)
    except ValueError as error:  # a label that says nothing, of this prompt alone
        return str(error)
