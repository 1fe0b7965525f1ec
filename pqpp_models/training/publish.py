"""What a training script does at its end and when something is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pqpp_models.checkpoint import check_place
from pqpp_models.errors import HubError
from pqpp_models.training.arguments import Recipe

Returned = TypeVar("Returned")


def save_and_publish(predictor: Any, recipe: Recipe) -> Path:
    """Save a trained predictor in `model` in the recipe's folder, and push it if that is wanted.

    Args:
        predictor: The trained predictor.
        recipe: Names the folder, and the repository to push to.

    Returns:
        The predictor's folder.
    """
    folder = predictor.save_pretrained(_folder_of(recipe))
    print(f"saved in {folder}; use it by Predictor.from_pretrained({str(folder)!r})")  # noqa: T201
    push_if_wanted(folder, recipe)
    return folder


def _folder_of(recipe: Recipe) -> Path:
    return Path(recipe.output_dir) / "model"


def check_output(recipe: Recipe, kind: str) -> None:
    """Check, before the training, that the predictor may be saved where the recipe says.

    Args:
        recipe: Names the folder.
        kind: The predictor's name.

    Raises:
        CheckpointError: There is something else than an older predictor of this kind.

    Example:
        >>> check_output(Recipe(output_dir="nowhere-yet"), "bert")
    """
    check_place(_folder_of(recipe), kind)


def check_push(recipe: Recipe) -> None:
    """Ask the Hub whether it will take the predictor, before the training; nothing is written.

    Args:
        recipe: Says whether to push, and where to.

    Raises:
        HubError: The Hub cannot be reached, or the token may not write there.

    Example:
        >>> check_push(Recipe(push_to_hub=False))
    """
    if recipe.push_to_hub:
        import pqpp_hub

        pqpp_hub.push_files(
            {},
            recipe.hub_model_id,
            "model",
            lambda _: False,
            "",
            private=recipe.hub_private,
            dry_run=True,
            error=HubError,
        )


def push_if_wanted(folder: Path, recipe: Recipe) -> None:
    """Push a saved predictor to the Hub if the recipe says so, and print where it is."""
    if recipe.push_to_hub:
        from pqpp_models.hub import push_to_hub

        report = push_to_hub(folder, recipe.hub_model_id, private=recipe.hub_private)
        print(f"pushed to {recipe.hub_model_id}: {report.lines()[-1]}")  # noqa: T201


def run_script(main: Callable[[], None]) -> None:
    """Run a script that Accelerate may have started; bad input ends it as in `or_exit`."""
    from accelerate import PartialState

    or_exit(main)
    PartialState().destroy_process_group()


def or_exit(main: Callable[[], Returned]) -> Returned:
    """Call a script's main; bad input ends it with one line and exit code 2, without a traceback.

    Args:
        main: What to call.

    Returns:
        What it returns.

    Example:
        >>> or_exit(lambda: 0)
        0
    """
    from pqpp_files.errors import PqppError

    try:
        return main()
    except PqppError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
