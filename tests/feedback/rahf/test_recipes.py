"""What the two trainers of RAHF refuse before they begin."""

import pytest

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import recipe_of, trainer

from pqpp_backbones.training.options import HubOptions
from pqpp_files.errors import FileError
from pqpp_files.options.option import RecipeError
from pqpp_files.options.recipe import build_recipe

TRAINERS = ("rahf", "t2i")


@pytest.fixture(params=TRAINERS)
def kind(request):
    return recipe_of(request.param)


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


def test_the_folder_of_images_has_another_name_now():
    kind = trainer("t2i").LoraRecipe
    with pytest.raises(RecipeError, match="`data_dir` is now `image_dir`"):
        build_recipe(kind, {"data_dir": "chosen"})


def test_the_defaults_are_taken(kind, tmp_path):
    needed = {"image_dir": str(tmp_path)} if kind.__name__ == "LoraRecipe" else {}
    assert build_recipe(kind, needed) == kind(**needed)


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


@pytest.mark.parametrize("option", [{"push_to_hub": True}, {"hub_private": True}, {}])
def test_what_is_not_pushed_has_no_repository(option):
    with pytest.raises(RecipeError, match="a recipe has no `hub_model_id`"):
        build_recipe(recipe_of("t2i"), {"hub_model_id": "a/b", **option})


@pytest.mark.parametrize(
    ("images", "share", "held_out"), [(10, 0.95, 9), (10, 0.1, 1), (2, 0.1, 1), (2, 0.9, 1)]
)
def test_some_images_are_left_to_learn_from(images, share, held_out, tmp_path):
    script = trainer("t2i")
    recipe = script.LoraRecipe(image_dir=str(tmp_path), held_out=share)
    assert script.held_out_count(recipe, images) == held_out


@pytest.mark.parametrize("images", [0, 1])
def test_one_image_is_too_few(images, tmp_path):
    script = trainer("t2i")
    with pytest.raises(RecipeError, match=rf"holds {images} image\(s\); 2 or more are needed"):
        script.held_out_count(script.LoraRecipe(image_dir=str(tmp_path)), images)


def test_damaged_images_are_told_before_the_pipeline_is_loaded(tmp_path):
    pytest.importorskip("peft", reason="fine-tuning needs peft")
    pytest.importorskip("PIL", reason="images need pillow")
    script = trainer("t2i")
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").write_text("no image")
        (tmp_path / f"{name}.txt").write_text("a cat")
    (tmp_path / "none").mkdir()  # of a pipeline
    recipe = script.LoraRecipe(image_dir=str(tmp_path), model=str(tmp_path / "none"))
    with pytest.raises(FileError, match=r"the image .*a\.png could not be read"):
        script.run(recipe)


def test_foreign_files_are_refused_before_the_training(tmp_path):
    for script, train, place in (
        ("rahf", "train_rahf", "model"),
        ("t2i", "run", "lora"),
    ):
        module, folder = trainer(script), tmp_path / script / place
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("mine")
        more = {"image_dir": str(tmp_path)} if script == "t2i" else {}
        if more:
            pytest.importorskip("peft", reason="fine-tuning needs peft")
        recipe = recipe_of(script)(output_dir=str(folder.parent), **more)
        with pytest.raises(FileError, match=r"holds other things \(notes.txt\)"):
            getattr(module, train)(recipe, *([] if more else [None, None]))
