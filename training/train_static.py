r"""Train the static predictor: label texts with teachers, distil, calibrate, score, save.

One teacher learns PQPP's targets from the train split and a file of captions of the collection.
Another, an encoder tuned on the same prompts and then on the studies of `alignment`, learns how
often people say that images match a prompt. PartiPrompts have no scores; they add texts for the
student. The validation split, and the studies that --without leaves out, are scored at the end.
With --leave_one_out, each study is scored by a model of the others, with features of the network of
static-train; this takes a minute. With --no_alignment, the studies are not learned. With --network,
only `alignment` of an existing predictor is learned again, which takes a minute. The result is the
same for the same number of threads.

Examples::

  pqpp train static --config static \
      --captions captions.txt --parti PartiPrompts.tsv
  pqpp train static --config static \
      --captions captions.txt --without gimbrr --output_dir runs/without_gimbrr
  pqpp train static --config static \
      --captions captions.txt --no_alignment --seed 1
  pqpp train static --config static \
      --captions captions.txt --network static --output_dir runs/anew
  pqpp train static --config static \
      --captions captions.txt --leave_one_out table.json
"""

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_files.atomic_write import write_file
from pqpp_files.paths import check_output
from pqpp_models import Predictor
from pqpp_models.text.static import StaticPredictor
from pqpp_models.text.training import trainers
from pqpp_models.text.training.data import format_studies
from pqpp_models.text.training.recipe import StaticRecipe


def train_static(recipe: StaticRecipe) -> dict[str, Any]:
    """Train the predictor of a recipe, save it, and return its scores."""
    recipe.check_output_dir(StaticPredictor.name)
    data = trainers.StaticData(recipe)
    unseen = {k: study for k, study in data.sources.items() if k not in data.studies}
    target = "alignment" if recipe.alignment else "mean_hbpp"
    predictor = trainers.StaticTraining(recipe, data).build_predictor()
    # Saving rounds the weights, so the scores are those of the predictor loaded from a temporary
    # folder; the output folder never contains a predictor without scores.
    with tempfile.TemporaryDirectory() as folder:
        saved = Predictor.from_pretrained(predictor.save_pretrained(Path(folder) / "saved"))
        scores = data.evaluate(saved, unseen, target)
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe.output_dir, recipe.overwrite)
    return scores


def train(recipe: StaticRecipe) -> None:
    """Train or refit a predictor, or only score left-out studies."""
    torch.use_deterministic_algorithms(True)
    if recipe.leave_one_out is not None:
        check_output(recipe.leave_one_out)
        facts = trainers.score_left_out_studies(recipe)
        print(format_studies(facts["studies"]))
        return write_file(recipe.leave_one_out, json.dumps(facts, indent=1) + "\n")
    train_or_refit = train_static if recipe.network is None else trainers.refit_alignment
    print(json.dumps(train_or_refit(recipe), indent=1))
    print(f"saved to {recipe.output_dir}")


main = partial(run_script, train, StaticRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
