"""Grid search over learning rates and weight decays, as in section 11 of the PQPP paper."""

import dataclasses
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pqpp_backbones.training.publish import check_push, push_if_wanted
from pqpp_backbones.training.state import Progress
from pqpp_files.foreign.json_values import parse_json, read_json
from pqpp_files.write_beside import whole_folder, write_whole
from pqpp_models.hub import push_to_hub
from pqpp_models.training.recipe import PredictorRecipe

RESULT = "result.json"
Trained = TypeVar("Trained", bound=PredictorRecipe)


def grid_search(recipe: Trained, train_one: Callable[[Trained], Progress]) -> list[dict[str, Any]]:
    """Train every cell of the grid and publish the best one in the recipe's folder.

    A cell that is finished is not trained again, an interrupted one goes on from its checkpoint.

    Returns:
        One mapping a cell with the two settings and the validation's metrics, the best first.
    """
    from accelerate import PartialState

    state, folder = PartialState(), Path(recipe.output_dir)
    if state.is_main_process:
        check_push(recipe)  # the cells' own recipes push nothing
    pairs = itertools.product(recipe.grid_learning_rates, recipe.grid_weight_decays)
    cells = [_cell(recipe, folder, rate, decay, train_one, state) for rate, decay in pairs]
    cells.sort(key=lambda cell: -cell["kendall"])
    if state.is_main_process:
        write_whole(folder / "grid.json", json.dumps(cells, indent=1))
        with whole_folder(folder / "model") as new:
            shutil.copytree(_folder_of(folder, cells[0]) / "model", new, dirs_exist_ok=True)
        push_if_wanted(folder / "model", recipe, push_to_hub)
    state.wait_for_everyone()
    return cells


def _cell(recipe, folder, rate, decay, train_one, state) -> dict[str, Any]:
    settings = {"learning_rate": rate, "weight_decay": decay}
    place = _folder_of(folder, settings)
    cell = dataclasses.replace(
        recipe, **settings, output_dir=str(place), grid=False, resume=True, push_to_hub=False
    )
    identity = parse_json(json.dumps(cell.deciding()))
    if (place / RESULT).is_file():
        known = read_json(place / RESULT)
        if known["recipe"] == identity:
            return {**settings, **known["metrics"]}
    metrics = train_one(cell).best or {}
    if state.is_main_process:
        content = json.dumps({"recipe": identity, "metrics": metrics})
        write_whole(place / RESULT, content)
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
    return {**settings, **metrics}


def _folder_of(folder: Path, settings: dict[str, Any]) -> Path:
    return folder / f"lr{settings['learning_rate']:g}-wd{settings['weight_decay']:g}"
