"""VISTAR's scores, each a module of this folder, found by its name.

Each module contains a subclass of `VistarScore`. The parameters that the paper leaves open are
under the module's name in `vistar_choices.yaml`, from which the card is generated.
"""

import importlib
import pkgutil
from typing import Any

from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.score import ANGLES, VistarScore
from pqpp_feedback.vistar.vision import Vision
from pqpp_files.names import did_you_mean


def list_scores() -> list[str]:
    """Return the names of the scores without importing them.

    Example:
        >>> "geometry" in list_scores()
        True
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def get_score_class(name: str) -> type[VistarScore]:
    """Return the class of a score.

    Raises:
        FeedbackError: The score does not exist.

    Example:
        >>> get_score_class("light").angle
        'LI'
    """
    if name not in list_scores():
        raise FeedbackError(f"unknown score {name!r:.40}; {did_you_mean(name, list_scores())}")
    module = importlib.import_module(f"{__name__}.{name}")
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return next(cls for cls in classes if issubclass(cls, VistarScore) and cls.section == name)


def load_scores(options: Any) -> list[VistarScore]:
    """Load the requested scores, which share vision models.

    Args:
        options: `pqpp_feedback.assessors.VistarOptions`.

    Returns:
        The requested scores; by default, all scores that need no language model, in the order of
        VISTAR's table 3.
    """
    classes = [get_score_class(name) for name in options.only or list_scores()]
    if not options.only:
        defaults = [score for score in classes if score.is_default]
        classes = sorted(defaults, key=lambda score: [*ANGLES, score.angle].index(score.angle))
    vision = None if options.evidence else Vision(options.model, options.device, options.dtype)
    return [score.from_options(vision, options) for score in classes]
