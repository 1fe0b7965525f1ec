"""What the trainer of RAHF refuses before it begins."""

import pytest

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import recipe_of, trainer

from pqpp_backbones.training.options import HubOptions
from pqpp_files.options.option import RecipeError
from pqpp_files.options.recipe import build_recipe


@pytest.fixture
def kind():
    return recipe_of("rahf")


@pytest.mark.parametrize(
    ("option", "value"),
    [("source", "mscoco"), ("targets", "mean_hbpp")],
)
def test_options_without_a_use_are_refused(kind, option, value):
    with pytest.raises(RecipeError, match=f"a recipe has no `{option}`"):
        build_recipe(kind, {option: value})


@pytest.mark.parametrize("rows", [0, -3])
def test_some_rows_are_left_to_validate_on(rows):
    kind = trainer("rahf").RahfRecipe
    with pytest.raises(RecipeError, match=f"`max_validation_rows` is {rows}; it must be above 0"):
        kind(max_validation_rows=rows)
    assert kind(max_validation_rows=1).max_validation_rows == 1


@pytest.mark.parametrize("name", ["not valid", "owner"])
def test_a_repository_is_checked_before_the_training(name):
    for recipe in (HubOptions, trainer("rahf").RahfRecipe):
        with pytest.raises(RecipeError, match=r"`hub_model_id` is .*; write OWNER/REPOSITORY"):
            recipe(push_to_hub=True, hub_model_id=name)
