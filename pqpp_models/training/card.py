"""What happened in a training, as plain values for the configuration and the card."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_models.record.rows import FittedRows
from pqpp_models.training.data import Rows, sha256_of_rows
from pqpp_models.training.options import OptimisationOptions, PredictorRecipe
from pqpp_models.training.state import Progress

_LIBRARIES = ("pqpp", "torch", "transformers", "accelerate", "datasets", "peft", "numpy")


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


def describe_run(
    recipe: OptimisationOptions, data: Mapping[str, Any], progress: Progress, processes: int
) -> dict[str, Any]:
    """Return what happened in any training; `data` says what was learned from."""
    settings = recipe.deciding()
    for name in ("model", "vision_model", "text_model", "dataset"):
        if Path(settings.get(name) or "").name and Path(settings[name]).exists():
            settings[name] = Path(settings[name]).resolve().name  # a card tells no local path
    pushed = getattr(recipe, "push_to_hub", False)
    return {
        **({"repository": getattr(recipe, "hub_model_id", None)} if pushed else {}),
        "recipe": settings,
        "data": dict(data),
        "epochs": progress.epoch,
        "best_epoch": progress.best_epoch + 1,
        "steps": progress.step,
        "seconds": round(progress.seconds),
        "processes": processes,
        "validation": {k: round(v, 6) for k, v in (progress.best or {}).items()},
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that take part and are installed."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
