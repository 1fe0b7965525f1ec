"""`pqpp train`: train a model by a recipe, on one device or many."""

from __future__ import annotations

import importlib
from functools import partial
from types import ModuleType

from pqpp_cli.command import Command, CommandError
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, Options, option

TRAINERS = {
    "bert": "pqpp_models.bert.train:BertRecipe",
    "clip": "pqpp_models.clip.train:ClipRecipe",
    "correlation_cnn": "pqpp_models.correlation_cnn.train:CnnRecipe",
    "static": "pqpp_models.text.training.train_static:StaticRecipe",
    "text_ensemble": "pqpp_models.text.training.train_text_ensemble:EnsembleRecipe",
    "rahf": "pqpp_feedback.rahf.train:RahfRecipe",
}
"""What can be trained, and the recipe of each, in a module with `run`."""


def trainer_of(name: str) -> tuple[ModuleType, type[Options]]:
    """Import the module of a trainer and return it with the class of its recipe."""
    place, _, kind = TRAINERS[name].partition(":")
    module = importlib.import_module(place)
    return module, getattr(module, kind)


class Train(Command):
    """Train a model by a recipe: a predictor, or a model of people's feedback.
    Each has its own options, which a YAML file (--config) may hold as well: pqpp train bert --help.
    Several GPUs or machines: `accelerate launch -m pqpp_cli train` in place of `pqpp train`. Needs
    the extra `models`.

    examples:
      pqpp train bert --help
      pqpp train bert --config minilm --output runs/minilm
      pqpp train bert --dataset my_folder --targets mean_hbpp --epochs 4
      pqpp train clip --config clip_generation --image-dir pqpp_images
      accelerate launch --quiet -m pqpp_cli train bert --config bert
      torchrun --nproc_per_node 2 -m pqpp_cli train bert --config bert --resume
    """

    name: str = option(
        NEEDED, f"what: {', '.join(TRAINERS)}", tuple(TRAINERS), word=True, metavar="NAME"
    )
    words: tuple[str, ...] = option(
        (), "its options; see pqpp train NAME --help", word=True, rest=True, metavar="OPTIONS"
    )

    def run(self) -> None:
        """Read the recipe, and train."""
        module, kind = trainer_of(self.name)
        from pqpp_backbones.training.script import run_trainer
        from pqpp_files.options.flags import in_flags
        from pqpp_files.options.recipe import parse_recipe

        about, _, examples = (module.__doc__ or "").partition("\n\nExamples::\n\n")
        try:
            recipe = parse_recipe(kind, about, examples, self.words, f"pqpp train {self.name}")
            run_trainer(partial(module.run, recipe))
        except PqppError as error:
            raise CommandError(in_flags(str(error), kind)) from error
