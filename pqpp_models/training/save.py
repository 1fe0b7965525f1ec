"""Save trained predictors."""

from pathlib import Path

from pqpp_backbones.training.publish import describe_run, push_if_requested
from pqpp_backbones.training.trainer import Outcome
from pqpp_models.hub import push_to_hub
from pqpp_models.predictor import Predictor
from pqpp_models.record.record import FittedRows
from pqpp_models.training.data import Rows, hash_rows
from pqpp_models.training.recipe import PredictorRecipe


def save_predictor(
    predictor: Predictor,
    recipe: PredictorRecipe,
    training: Rows,
    validation: Rows,
    outcome: Outcome,
) -> None:
    """Save a predictor with its card, and push it to the Hub if the recipe says so.

    Args:
        recipe: The training options.
        training: The rows that it was fitted to.
        validation: The rows that chose the epoch.
        outcome: The outcome of the training.
    """
    # The entries that hub_cards/predictors/_fine_tuned.md shows.
    data = {
        "version": str(getattr(validation.table.info, "version", "")),
        "train_rows": len(training),
        "train_sha256": hash_rows(training),
        "validation_rows": len(validation),
        "validation_sha256": hash_rows(validation),
    }
    if n_fitted := FittedRows.from_rows(training.as_table).contains(validation.as_table).sum():
        data["validation_fitted"] = int(n_fitted)
    predictor.details = {**predictor.details, **describe_run(recipe, data, outcome)}
    predictor.record_fit(training.as_table, training.targets)
    overwrite = recipe.overwrite or bool(recipe.resume_from_checkpoint)
    folder = predictor.save_pretrained(Path(recipe.output_dir) / "model", overwrite)
    print(f"saved to {folder}; load it with Predictor.from_pretrained({str(folder)!r})")
    push_if_requested(folder, recipe, push_to_hub)
