"""Counting and arithmetic: so many of each object, whatever else is there."""

from pqpp_feedback.gimbrr.asked import Asked
from pqpp_feedback.gimbrr.conditions import Condition


def conditions(asked: Asked) -> list[Condition]:
    """Return one condition an object.

    Raises:
        AssessError: The label says no whole number for each object.

    Example:
        >>> [one.count for one in conditions(Asked("Counting", ("cow",), "5", True))]
        [5]
    """
    pairs = zip(asked.objects, asked.counts, strict=True)
    return [Condition("counts", name, count=count) for name, count in pairs]
