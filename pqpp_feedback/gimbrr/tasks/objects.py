"""One or several objects: each is shown, the others of the prompt being no rivals."""

from pqpp_feedback.gimbrr.asked import Asked
from pqpp_feedback.gimbrr.conditions import Condition


def conditions(asked: Asked) -> list[Condition]:
    """Return one condition an object.

    Example:
        >>> [one.beside for one in conditions(Asked("Multiple objects", ("cow", "cup"), "", True))]
        [('cup',), ('cow',)]
    """
    return [
        Condition("shows", name, tuple(one for one in asked.objects if one != name))
        for name in asked.objects
    ]
