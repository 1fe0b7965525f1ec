"""Checks of the output folder and of the Hub, and a training's entries for the card."""

import contextlib
import importlib.metadata
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqpp_backbones.checkpoint import check_checkpoint_folder
from pqpp_backbones.training.options import HubOptions, OptimisationOptions, RunOptions
from pqpp_files.errors import PqppError
from pqpp_files.options.option import Options
from pqpp_files.paths import check_output_folder
from pqpp_hub import PushReport, push_files

_LIBRARIES = ("pqpp", "torch", "transformers", "accelerate", "datasets", "peft", "numpy")


def check_model_folder(recipe: RunOptions, predictor_type: str) -> None:
    """Check, before the training, that the predictor may be saved to the recipe's folder.

    Raises:
        ModelError: The folder contains something other than an older predictor of this kind.
        PqppError: The folder contains an older predictor, and the recipe neither overwrites nor
            resumes it.

    Example:
        >>> check_model_folder(RunOptions(output_dir="nowhere-yet"), "bert")
    """
    folder = Path(recipe.output_dir) / "model"
    check_checkpoint_folder(folder, predictor_type)
    check_unfinished(folder, recipe)


def check_unfinished(folder: Path, recipe: Options, patterns: Sequence[str] | None = None) -> None:
    """Refuse a folder with the result of a finished run, unless to overwrite or resume it.

    Args:
        folder: The folder of the result.
        recipe: The options `overwrite` and `resume_from_checkpoint`, if it has them.
        patterns: The names that the folder may contain; any names if None.

    Raises:
        FileError: Nothing can be written there, or it contains something else.
        PqppError: It contains an earlier result.
    """
    check_output_folder(folder, patterns)
    wanted = getattr(recipe, "overwrite", False) or getattr(recipe, "resume_from_checkpoint", None)
    if not wanted and folder.is_dir() and any(folder.iterdir()):
        raise PqppError(
            f"{folder} contains an earlier result; set `overwrite`, or choose another folder"
        )


def check_push_access(recipe: Options) -> None:
    """Check with the Hub that it will accept the model, before the training; nothing is written.

    Raises:
        HubError: The Hub cannot be reached, or the token may not write there.

    Example:
        >>> check_push_access(HubOptions(push_to_hub=False))
    """
    if isinstance(recipe, HubOptions) and recipe.push_to_hub:
        assert recipe.hub_model_id is not None
        how: dict[str, Any] = {"private": recipe.hub_private_repo, "dry_run": True}
        push_files({}, recipe.hub_model_id, "model", lambda _: False, "", **how)


def push_if_requested(folder: Path, recipe: HubOptions, push: Callable[..., PushReport]) -> None:
    """Push a saved model to the Hub if the recipe requires it, and print its address.

    Args:
        push: accepts the folder, the repository and ``private``.
    """
    if recipe.push_to_hub:
        assert recipe.hub_model_id is not None
        report = push(folder, recipe.hub_model_id, private=recipe.hub_private_repo)
        print(f"pushed to {recipe.hub_model_id}: {report.lines()[-1]}")


def describe_run(
    recipe: OptimisationOptions, data: Mapping[str, Any], outcome: Any
) -> dict[str, Any]:
    """Return the facts of a training from its `Outcome`; `data` describes the training data."""
    settings = {name: value for name, value in recipe.get_training_options().items() if value != {}}
    for name in ("model", "vision_model", "text_model", "dataset"):
        if Path(settings.get(name) or "").name and Path(settings[name]).exists():
            settings[name] = Path(settings[name]).resolve().name  # a card contains no local path
    pushed = getattr(recipe, "push_to_hub", False)
    return {
        **({"repository": getattr(recipe, "hub_model_id", None)} if pushed else {}),
        "recipe": settings,
        "data": dict(data),
        **asdict(outcome),
        "validation": {k: round(v, 6) for k, v in outcome.validation.items()},
        "versions": get_library_versions(),
    }


def get_library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are used and installed."""
    known = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            known[name] = importlib.metadata.version(name)
    return known
