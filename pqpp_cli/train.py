"""`pqpp train`: train a model by a recipe, on one device or many."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
from pathlib import Path
from typing import Any

from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option

TRAINERS = {
    "bert": "pqpp_training.options:BertRecipe",
    "clip": "pqpp_training.options:ClipRecipe",
    "correlation_cnn": "pqpp_training.options:CnnRecipe",
    "static": "pqpp_models.text.training.recipe:StaticRecipe",
    "text_ensemble": "pqpp_models.text.training.recipe:EnsembleRecipe",
    "rahf": "pqpp_training.options:RahfRecipe",
}
"""Models that can be trained by `pqpp_training.train_NAME`, with their options."""


class Train(Command):
    """Train a model from a recipe.

    `pqpp train NAME --help` lists the options of a model; they can also be in a YAML file
    (--config). For several GPUs or machines, use `accelerate launch -m pqpp_training.train_bert`
    instead of `pqpp train bert`. Install the extra `models` first.

    --config also accepts the name of an included recipe: minilm and bert, clip_generation and
    clip_retrieval, correlation_cnn_generation and correlation_cnn_retrieval, static, text_ensemble,
    rahf and rahf_scenes.

    examples:
      pqpp train bert --help
      pqpp train bert --config minilm --output runs/minilm
      pqpp train bert --dataset my_folder --targets mean_hbpp --num-train-epochs 4
      pqpp train clip --config clip_generation --image-dir pqpp_images
      pqpp train bert --config bert --resume-from-checkpoint last
      accelerate launch -m pqpp_training.train_bert --config bert

    Attributes:
        words: Options of the recipe; see `pqpp train NAME --help`.
    """

    name: str = option(
        NEEDED, f"model: {', '.join(TRAINERS)}", tuple(TRAINERS), word=True, metavar="NAME"
    )
    words: tuple[str, ...] = option((), word=True, rest=True, metavar="OPTIONS")

    def run(self) -> None:
        """Read the recipe, and train."""
        from pqpp_backbones.training.script import run_script

        name = f"pqpp_training.train_{self.name}"
        script = Path(getattr(importlib.util.find_spec(name), "origin", None) or "")
        description = ast.get_docstring(ast.parse(script.read_text("utf-8")))

        def train(recipe: Any) -> None:
            importlib.import_module(name).train(recipe)

        kind = pkgutil.resolve_name(TRAINERS[self.name])
        run_script(train, kind, description, self.words, f"pqpp train {self.name}")
