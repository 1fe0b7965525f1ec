"""Options that a training script inherits and has no use for are refused, not ignored."""

from __future__ import annotations

import dataclasses
from typing import Any

from pqpp_models.targets import resolve_targets
from pqpp_models.training.arguments import Recipe, RecipeError

# What is about predictors of prompts, and the search that only their scripts do.
PREDICTORS_ONLY = (
    *("source", "targets", "head_learning_rate"),
    *("grid", "grid_learning_rates", "grid_weight_decays"),
)
PUSHING = ("push_to_hub", "hub_model_id", "hub_private")


def refuse_unused(recipe: Recipe, *names: str) -> None:
    """Refuse options that were set and would change nothing.

    Args:
        recipe: The script's recipe.
        *names: The options without a use in it.

    Raises:
        RecipeError: One of them is not at its default.
    """
    defaults = {field.name: _default(field) for field in dataclasses.fields(recipe)}
    # The recipe puts in what stands for none.
    defaults["targets"] = list(resolve_targets(None))
    for name in names:
        value = getattr(recipe, name)
        if value != defaults[name]:
            raise RecipeError(
                f"`{name}` is {value!r}, but this script does not use it; leave it out"
            )


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
