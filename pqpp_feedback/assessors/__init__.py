"""The assessors, each a module of this folder, found by its name.

A module holds a subclass of `AssessorOptions`: what the assessor can be told, and how it is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pqpp_feedback.assess.by_name import class_of, module_names
from pqpp_feedback.assess.options import AssessorOptions

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


def list_assessors() -> list[str]:
    """Return the names of the assessors; none is imported.

    Example:
        >>> list_assessors()
        ['gimbrr', 'rahf', 'vistar', 'vqa']
    """
    return module_names(__name__)


def assessor_options(name: str) -> type[AssessorOptions]:
    """Return the options of an assessor, a frozen dataclass whose `open` opens it.

    Raises:
        AssessError: There is no assessor of this name.

    Example:
        >>> assessor_options("rahf").__name__
        'RahfOptions'
    """
    return class_of(__name__, name, AssessorOptions)


def open_assessors(name: str, **options: Any) -> Sequence[Assessor]:
    """Open what a name stands for: one assessor, or several that look at the same images.

    Args:
        **options: As `assessor_options(name)` declares them.

    Raises:
        AssessError: There is no assessor of this name, or something that it needs is not there.
        RecipeError: An option is unknown or not allowed.

    Example:
        >>> [assessor.name for assessor in open_assessors("vistar", only="text_rendering")]
        ['vistar-text_rendering']
    """
    from pqpp_files.options.recipe import build_recipe

    return build_recipe(assessor_options(name), options).open()
