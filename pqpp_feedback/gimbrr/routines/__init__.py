"""The routines: each turns what was seen, and conditions, into a verdict.

A new routine is a class with `name` and `judge` in a file, and a line here.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.gimbrr.conditions import Condition
from pqpp_feedback.gimbrr.seen import Seen
from pqpp_files.names import did_you_mean

ROUTINES = {
    "published": "pqpp_feedback.gimbrr.routines.published:Published",
    "calibrated": "pqpp_feedback.gimbrr.routines.calibrated:Calibrated",
}
"""Routine to where its class is, as `module:class`."""


class Routine(Protocol):
    """What a routine is.

    Attributes:
        name: In tables, as `gimbrr-published`.
        settings: What its verdicts depend on, as values that JSON holds.
    """

    name: str
    settings: dict[str, Any]

    def judge(
        self, seen: Seen, conditions: Sequence[Condition], image_id: str, task: str
    ) -> Verdict:
        """Return the verdict; all eyes that the conditions need have looked."""


def open_routine(name: str, *arguments: Any) -> Routine:
    """Return a routine by its name.

    Args:
        name: One of `ROUTINES`.
        *arguments: Of its class.

    Raises:
        AssessError: There is none.

    Example:
        >>> open_routine("published").name
        'gimbrr-published'
    """
    if name not in ROUTINES:
        raise AssessError(f"routine {name!r:.40} is unknown; {did_you_mean(name, ROUTINES)}")
    place, _, kind = ROUTINES[name].partition(":")
    return getattr(importlib.import_module(place), kind)(*arguments)
