"""The routines, each a module of this folder found by its name: what was seen becomes a verdict."""

import abc
from typing import Any

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.by_name import class_of
from pqpp_feedback.gimbrr.conditions import Conditions
from pqpp_feedback.gimbrr.seen import Seen


class Routine(abc.ABC):
    """What a routine is.

    Attributes:
        name: In tables, as `gimbrr-published`.
        settings: What its verdicts depend on, as values that JSON holds.
    """

    name: str
    settings: dict[str, Any]

    @abc.abstractmethod
    def judge(self, seen: Seen, conditions: Conditions, image_id: str, task: str) -> Verdict:
        """Return the verdict; all eyes that the conditions need have looked."""


def open_routine(name: str, *arguments: Any) -> Routine:
    """Return a routine by its name.

    Args:
        *arguments: Of its class.

    Raises:
        AssessError: There is none.

    Example:
        >>> open_routine("published").name
        'gimbrr-published'
    """
    kind: type[Routine] = class_of(__name__, name, Routine)  # type: ignore[type-abstract]
    return kind(*arguments)
