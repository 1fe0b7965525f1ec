"""What a training script does at its end and when something is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pqpp_models.errors import PredictorError
from pqpp_models.training.arguments import Recipe


def save_and_publish(predictor: Any, recipe: Recipe) -> Path:
    """Save a trained predictor in `model` in the recipe's folder, and push it if that is wanted.

    Args:
        predictor: The trained predictor.
        recipe: Names the folder, and the repository to push to.

    Returns:
        The predictor's folder.
    """
    folder = predictor.save_pretrained(Path(recipe.output_dir) / "model")
    print(f"saved in {folder}; use it by Predictor.from_pretrained({str(folder)!r})")  # noqa: T201
    push_if_wanted(folder, recipe)
    return folder


def push_if_wanted(folder: Path, recipe: Recipe) -> None:
    """Push a saved predictor to the Hub if the recipe says so."""
    if recipe.push_to_hub:
        from pqpp_models.hub import push_to_hub

        push_to_hub(folder, recipe.hub_model_id, private=recipe.hub_private)


def run_script(main: Callable[[], None]) -> None:
    """Run a script; bad input ends it with one line and exit code 2, without a traceback."""
    from accelerate import PartialState

    from pqpp_datasets.errors import BenchmarkError

    try:
        main()
    except (PredictorError, BenchmarkError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    PartialState().destroy_process_group()
