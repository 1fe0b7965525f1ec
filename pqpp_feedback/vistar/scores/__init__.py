"""VISTAR's scores, each a module of this folder, found by its name.

A module holds a subclass of `VistarScore`; its numbers that the paper leaves open stand under its
name in `vistar_choices.yaml`, from which the card is made.
"""

from typing import Any

from pqpp_feedback.assess.by_name import class_of, module_names
from pqpp_feedback.vistar.score import ANGLES, VistarScore
from pqpp_feedback.vistar.sight import Sight


def score_names() -> list[str]:
    """Return the names of the scores; none is imported.

    Example:
        >>> "geometry" in score_names()
        True
    """
    return module_names(__name__)


def score_class(name: str) -> type[VistarScore]:
    """Return the class of a score.

    Raises:
        AssessError: There is no score of this name.

    Example:
        >>> score_class("light").angle
        'LI'
    """
    return class_of(__name__, name, VistarScore)  # type: ignore[type-abstract]


def open_scores(options: Any) -> list[VistarScore]:
    """Open the wanted scores, which share what they look with.

    Args:
        options: `pqpp_feedback.assessors.vistar.VistarOptions`.

    Returns:
        The scores as they are named or, where none is, all that need no language model, in the
        order of VISTAR's table 3.
    """
    classes = [score_class(name) for name in options.only or score_names()]
    if not options.only:
        usual = [score for score in classes if score.is_usual]
        classes = sorted(usual, key=lambda score: [*ANGLES, score.angle].index(score.angle))
    sight = None if options.evidence else Sight(options.model, options.device, options.dtype)
    return [score.opened(sight, options) for score in classes]
