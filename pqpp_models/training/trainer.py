"""What the training scripts of predictors do alike, around the task of each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from pqpp_backbones.training.loop import Task, train
from pqpp_backbones.training.publish import check_model_folder, describe_run, push_if_wanted
from pqpp_backbones.training.state import Progress
from pqpp_models.hub import push_to_hub
from pqpp_models.record.record import FittedRows
from pqpp_models.training.data import Rows, sha256_of_rows
from pqpp_models.training.grid import Trained, grid_search
from pqpp_models.training.recipe import PredictorRecipe


def train_by_recipe(
    recipe: Trained,
    predictor: str,
    read: Callable[[Trained, str], Any],
    train_one: Callable[[Trained, Any, Any], Progress],
) -> None:
    """Read the data, and train once or over the grid.

    Args:
        predictor: The name of the predictors that it makes.
        read: Takes the recipe and a split, returns its data.
        train_one: Takes a recipe and the data of both splits, and saves its predictor.
    """
    check_model_folder(recipe, predictor)
    training = read(recipe, recipe.train_split)
    validation = read(recipe, recipe.validation_split)
    if recipe.grid:
        grid_search(recipe, lambda cell: train_one(cell, training, validation))
    else:
        train_one(recipe, training, validation)


def train_and_save(
    task: Task,
    recipe: Any,
    accelerator: Accelerator,
    training: Rows,
    validation: Rows,
    predictor_of: Callable[[Any, dict[str, Any]], Any],
) -> Progress:
    """Train one recipe, save its predictor, and push that if it is wanted.

    Args:
        validation: The rows that choose the epoch.
        predictor_of: Makes the predictor of the trained model and of what the card tells.
    """
    task.identity |= {"train": sha256_of_rows(training), "validation": sha256_of_rows(validation)}
    task.head_learning_rate = recipe.head_learning_rate

    def save(progress: Progress) -> None:
        details = describe(recipe, training, validation, progress, accelerator.num_processes)
        predictor = predictor_of(task.model, details)
        predictor.was_fitted_to(training.identified, training.targets)
        folder = predictor.save_pretrained(Path(recipe.output_dir) / "model")
        print(f"saved in {folder}; use it by Predictor.from_pretrained({str(folder)!r})")
        push_if_wanted(folder, recipe, push_to_hub)

    return train(task, recipe, accelerator, save)


def describe(
    recipe: PredictorRecipe, train: Rows, validation: Rows, progress: Progress, processes: int
) -> dict[str, Any]:
    """Return what `hub_cards/predictors/_fine_tuned.md` tells of a training."""
    data = {
        "version": str(getattr(validation.table.info, "version", "")),
        "train_rows": len(train),
        "train_sha256": sha256_of_rows(train),
        "validation_rows": len(validation),
        "validation_sha256": sha256_of_rows(validation),
    }
    fitted = FittedRows.of(train.identified).among(validation.identified).sum()
    if fitted:
        data["validation_fitted"] = int(fitted)
    return describe_run(recipe, data, progress, processes)
