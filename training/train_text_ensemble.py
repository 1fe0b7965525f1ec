r"""Train the text ensemble: the best predictor that sees prompts only.

Kernel ridge regression and small networks on a frozen encoder and on a file of captions of the
collection; for generation also the same encoder, fine-tuned. The validation split is scored at the
end. With --folds 5 the whole recipe is cross-validated inside the train split instead, and nothing
is saved.

Examples::

  pqpp train text_ensemble --config text_ensemble \
      --captions captions.txt
"""

import json
from functools import partial

import numpy as np

from pqpp_backbones.training.script import or_exit, run_script
from pqpp_models.text.text_ensemble import TextEnsemblePredictor
from pqpp_models.text.training.builds import EnsembleData, train_ensemble
from pqpp_models.text.training.data import score_table
from pqpp_models.text.training.recipe import EnsembleRecipe


def score_folds(recipe: EnsembleRecipe, data: EnsembleData) -> None:
    """Train without each part of the train split and print what that predicts of the part."""
    rows = np.random.default_rng(recipe.seed).permutation(len(data.train))
    for part in np.array_split(rows, recipe.folds):
        predictor = train_ensemble(recipe, data, np.setdiff1d(rows, part))
        held = data.train.select(part)
        scores = score_table(predictor.predict(held.prompts), held.targets, recipe.targets)
        print(json.dumps(scores), flush=True)


def train(recipe: EnsembleRecipe) -> None:
    """Train, or cross-validate, what the recipe asks for."""
    if not recipe.folds:
        recipe.check_output(TextEnsemblePredictor.name)
    data = EnsembleData(recipe)
    print(f"{len(data.train)} training prompts, {len(data.captions)} further captions")
    if recipe.folds:
        return score_folds(recipe, data)
    predictor = train_ensemble(recipe, data, np.arange(len(data.train)))
    target = "mean_hbpp" if "mean_hbpp" in recipe.targets else recipe.targets[0]
    scores = data.evaluate(predictor, data.sources, target)
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe.output_dir)
    print(json.dumps({"seed": recipe.seed, **scores}))
    print(f"saved to {recipe.output_dir}")


main = partial(run_script, train, EnsembleRecipe, __doc__)
"""Trains by the words of a command line."""

if __name__ == "__main__":
    or_exit(main)
