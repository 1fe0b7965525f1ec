"""Negation and conditional generation: an object is shown, and the label's is not."""

from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.gimbrr.asked import Asked
from pqpp_feedback.gimbrr.conditions import Condition


def conditions(asked: Asked) -> list[Condition]:
    """Return the conditions; the two are no rivals of each other.

    Raises:
        AssessError: Nothing is to be absent.

    Example:
        >>> [one.kind for one in conditions(Asked("Negation", ("street",), "cow", True))]
        ['shows', 'lacks']
    """
    if not asked.label:
        raise AssessError("the prompt names nothing to be absent in `task_specific_label`")
    shown = [Condition("shows", name, (asked.label,)) for name in asked.objects]
    return [*shown, Condition("lacks", asked.label, asked.objects)]
