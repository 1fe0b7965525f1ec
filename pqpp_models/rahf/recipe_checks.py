"""Options that a training script inherits and has no use for are refused, not ignored."""

from __future__ import annotations

import dataclasses

from pqpp_models.training.arguments import Recipe, RecipeError


def refuse_unused(recipe: Recipe, *names: str) -> None:
    """Refuse options that were set and would change nothing.

    Args:
        recipe: The script's recipe.
        *names: The options without a use in it.

    Raises:
        RecipeError: One of them is not at its default.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(recipe)}
    for name in names:
        value = getattr(recipe, name)
        if value != defaults[name]:
            raise RecipeError(
                f"`{name}` is {value!r}, but this script does not use it; leave it out"
            )
