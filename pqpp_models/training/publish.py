"""Where a training's result goes: its folder and, if that is wanted, the Hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from pqpp_files.check_output import check_output_folder
from pqpp_models.checkpoint import check_place
from pqpp_models.training.options import HubOptions, Options, RecipeError, RunOptions


def check_model_folder(recipe: RunOptions, kind: str) -> None:
    """Check, before the training, that the predictor may be saved where the recipe says.

    Raises:
        CheckpointError: There is something else than an older predictor of this kind.
        RecipeError: There is one, and the recipe has neither `overwrite` nor `resume`.

    Example:
        >>> check_model_folder(RunOptions(output_dir="nowhere-yet"), "bert")
    """
    folder = Path(recipe.output_dir) / "model"
    check_place(folder, kind)
    refuse_finished(folder, recipe)


def refuse_finished(folder: Path, recipe: RunOptions | argparse.Namespace) -> None:
    """Refuse a folder with the result of a finished run, but for `overwrite` and `resume`.

    Raises:
        FileError: Nothing can be written there.
        RecipeError: It holds something.
    """
    check_output_folder(folder)
    wanted = recipe.overwrite or getattr(recipe, "resume", False)
    if not wanted and folder.is_dir() and any(folder.iterdir()):
        raise RecipeError(
            f"{folder} holds a finished model; add --overwrite to replace it, or name another "
            "--output"
        )


def check_push(recipe: Options) -> None:
    """Ask the Hub whether it will take the model, before the training; nothing is written.

    Raises:
        HubError: The Hub cannot be reached, or the token may not write there.

    Example:
        >>> check_push(HubOptions(push_to_hub=False))
    """
    if isinstance(recipe, HubOptions) and recipe.push_to_hub:
        import pqpp_hub

        assert recipe.hub_model_id is not None
        pqpp_hub.push_files(
            {},
            recipe.hub_model_id,
            "model",
            lambda _: False,
            "",
            private=recipe.hub_private,
            dry_run=True,
        )


def push_if_wanted(folder: Path, recipe: HubOptions) -> None:
    """Push a saved model to the Hub if the recipe says so, and print where it is."""
    if recipe.push_to_hub:
        from pqpp_models.hub import push_to_hub

        assert recipe.hub_model_id is not None
        report = push_to_hub(folder, recipe.hub_model_id, private=recipe.hub_private)
        print(f"pushed to {recipe.hub_model_id}: {report.lines()[-1]}")  # noqa: T201
