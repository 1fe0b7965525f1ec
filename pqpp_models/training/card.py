"""What happened in a training, as plain values for the configuration and the card."""

from __future__ import annotations

from typing import Any

from pqpp_backbones.training.publish import describe_run
from pqpp_backbones.training.state import Progress
from pqpp_models.record.rows import FittedRows
from pqpp_models.training.data import Rows, sha256_of_rows
from pqpp_models.training.recipe import PredictorRecipe


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
