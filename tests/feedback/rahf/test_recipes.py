"""What the trainer of RAHF refuses before it begins."""

import pytest

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import recipe_of, trainer

from pqpp_backbones.training.options import HubOptions
from pqpp_files.errors import FileError
from pqpp_files.options.option import RecipeError
from pqpp_files.options.recipe import build_recipe


@pytest.fixture
def kind():
    return recipe_of("rahf")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("source", "mscoco"),
        ("targets", "mean_hbpp"),
        ("grid", True),
        ("grid_learning_rates", "0.1"),
        ("grid_weight_decays", [0.5]),
        ("head_learning_rate", 0.1),
    ],
)
def test_options_without_a_use_are_refused(kind, option, value):
    with pytest.raises(RecipeError, match=f"a recipe has no `{option}`"):
        build_recipe(kind, {option: value})


@pytest.mark.parametrize("epochs", [2, 3])
def test_outputs_without_an_epoch_are_refused(epochs):
    kind = trainer("rahf").RahfRecipe
    assert kind(joint_first=epochs - 1, epochs=epochs).joint_first == epochs - 1
    told = f"`joint_first` is {epochs} of {epochs} epochs; leave one or more"
    with pytest.raises(RecipeError, match=told):
        kind(joint_first=epochs, epochs=epochs)


def test_the_defaults_are_taken(kind):
    assert build_recipe(kind, {}) == kind()


def test_a_card_names_no_option_without_a_use():
    settings = trainer("rahf").RahfRecipe().deciding()
    assert "learning_rate" in settings
    assert not {"source", "targets", "head_learning_rate"} & set(settings)


@pytest.mark.parametrize("rows", [0, -3])
def test_some_rows_are_left_to_validate_on(rows):
    kind = trainer("rahf").RahfRecipe
    with pytest.raises(RecipeError, match=f"`max_validation_rows` is {rows}; it must be above 0"):
        kind(max_validation_rows=rows)
    assert kind(max_validation_rows=1).max_validation_rows == 1


class Rows:
    """Stands for `Examples`."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def fingerprint(self):
        return "0"


@pytest.mark.parametrize(("published", "name"), [(True, "pqpp"), (False, "not the published")])
def test_a_card_says_what_its_figures_come_from(published, name, monkeypatch):
    from types import SimpleNamespace

    from huggingface_hub import ModelCard

    from pqpp_feedback.rahf import examples
    from pqpp_hub.card import render_card

    recipe = {"dataset": "pqpp", "subset": "richhf", "validation_split": "validation"}
    monkeypatch.setattr(examples, "is_published", lambda *_: published)
    told = examples.describe_data(SimpleNamespace(**recipe, data_dir=None), Rows(20), Rows(7))
    details = {
        **told,
        "recipe": recipe,
        "validation": {"mean": 0.5},
        "versions": {},
        **dict.fromkeys(("epochs", "best_epoch", "steps", "seconds", "processes"), 1),
    }
    card = ModelCard(render_card("feedback/rahf", variant="multi_head", details=details, layers=[]))
    (result,) = card.data.eval_results
    assert name in result.dataset_name and result.dataset_config == "richhf"
    assert ("not the published files" in result.dataset_name) == (not published)
    assert result.dataset_args == {"images": 7}
    said = "(7 images)" if published else "(7 images, not the published files)"
    assert f"On the validation split {said}" in card.text


def test_the_trainer_tells_the_card_that_its_files_are_not_the_published_ones(tmp_path):
    from pqpp_feedback.rahf.examples import describe_data

    kind, seen = trainer("rahf").RahfRecipe, {}
    for dataset, subset in (("pqpp", "richhf"), ("pqpp", "other"), ("mine", "richhf")):
        recipe = kind(data_dir=str(tmp_path), dataset=dataset, subset=subset)
        seen[dataset, subset] = describe_data(recipe, Rows(3), Rows(1))
    # Of another dataset its own name stands in the card.
    others = "not the published files"
    assert [others in one["images"] for one in seen.values()] == [True, False, False]
    assert [one["dataset_name"] for one in seen.values()] == [f"pqpp ({others})", "pqpp", "mine"]


@pytest.mark.parametrize("name", ["not valid", "owner", "https://huggingface.co/a/b"])
def test_a_repository_is_checked_before_the_training(name):
    for recipe in (HubOptions, trainer("rahf").RahfRecipe):
        with pytest.raises(RecipeError, match=r"`hub_model_id` is .*; write OWNER/REPOSITORY"):
            recipe(push_to_hub=True, hub_model_id=name)


def test_foreign_files_are_refused_before_the_training(tmp_path):
    folder = tmp_path / "rahf" / "model"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    recipe = recipe_of("rahf")(output_dir=str(folder.parent))
    with pytest.raises(FileError, match=r"holds other things \(notes.txt\)"):
        trainer("rahf").train_rahf(recipe, None, None)
