"""Checks before training, and publication after it."""

import contextlib
import importlib.metadata
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqpp_backbones.checkpoint import check_checkpoint_folder
from pqpp_backbones.training.options import HubOptions, RunOptions
from pqpp_files.errors import PqppError
from pqpp_files.options.option import Options
from pqpp_files.paths import check_output_folder
from pqpp_hub import PushReport, push_files

_LIBRARIES = ("pqpp", "torch", "transformers", "accelerate", "datasets", "peft", "numpy")


def check_model_folder(recipe: RunOptions, predictor_type: str) -> None:
    """Check that a predictor can be saved to the output folder of a recipe.

    Raises:
        FileError: The folder contains other files.
        ModelError: The folder contains another type of predictor.
        PqppError: The folder contains a predictor, and the recipe does not overwrite or resume.

    Example:
        >>> check_model_folder(RunOptions(output_dir="nowhere-yet"), "bert")
    """
    folder = Path(recipe.output_dir) / "model"
    check_checkpoint_folder(folder, predictor_type)
    check_no_result(folder, recipe)


def check_no_result(folder: Path, recipe: Options, patterns: Sequence[str] | None = None) -> None:
    """Check that a folder has no earlier result, unless the recipe overwrites or resumes it.

    Args:
        recipe: Options, with or without `overwrite` and `resume_from_checkpoint`.
        patterns: Patterns of the files that the folder may contain; None for any.

    Raises:
        FileError: The folder cannot be written to, or contains other files.
        PqppError: The folder contains an earlier result.
    """
    check_output_folder(folder, patterns)
    may_replace = any(getattr(recipe, n, None) for n in ("overwrite", "resume_from_checkpoint"))
    if not may_replace and folder.is_dir() and any(folder.iterdir()):
        raise PqppError(
            f"{folder} is not empty; set `overwrite` to replace a result, or choose another folder"
        )


def check_push_access(recipe: Options) -> None:
    """Check that the Hub would accept the model of a recipe, without writing to it.

    Raises:
        HubError: The Hub cannot be reached, or the token has no write permission.

    Example:
        >>> check_push_access(HubOptions(push_to_hub=False))
    """
    if isinstance(recipe, HubOptions) and recipe.push_to_hub:
        assert recipe.hub_model_id is not None
        options: dict[str, Any] = {"private": recipe.hub_private_repo, "dry_run": True}
        push_files({}, recipe.hub_model_id, "model", lambda _: False, "", **options)


def push_if_requested(folder: Path, recipe: HubOptions, push: Callable[..., PushReport]) -> None:
    """Push a saved model to the Hub if the recipe requests it, and print its URL.

    Args:
        push: a function of the folder, the repository and ``private``.
    """
    if recipe.push_to_hub:
        assert recipe.hub_model_id is not None
        report = push(folder, recipe.hub_model_id, private=recipe.hub_private_repo)
        print(f"pushed to {recipe.hub_model_id}: {report.to_lines()[-1]}")


def describe_run(recipe: Any, data: Mapping[str, Any], outcome: Any) -> dict[str, Any]:
    """Return the settings and results of a training run for the model card."""
    settings = {name: value for name, value in recipe.get_training_options().items() if value != {}}
    for name in ("model", "vision_model", "text_model", "dataset"):
        if Path(settings.get(name) or "").name and Path(settings[name]).exists():
            settings[name] = Path(settings[name]).resolve().name  # a card contains no local path
    return {
        **({"repository": recipe.hub_model_id} if recipe.push_to_hub else {}),
        "recipe": settings,
        "data": dict(data),
        **asdict(outcome),
        "validation": {k: round(v, 6) for k, v in outcome.validation.items()},
        "versions": get_library_versions(),
    }


def get_library_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed libraries in `_LIBRARIES`."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
