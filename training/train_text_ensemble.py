r"""Train the text ensemble: the best predictor whose only input is the prompt.

Kernel ridge regression and small networks on a frozen encoder and on a file of captions of the
collection; for generation also the same encoder, fine-tuned. The validation split is scored at the
end.

Examples::

  pqpp train text_ensemble --config text_ensemble \
      --captions captions.txt
"""

import json
from functools import partial

from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_models.text.text_ensemble import TextEnsemblePredictor
from pqpp_models.text.training.recipe import EnsembleRecipe
from pqpp_models.text.training.trainers import EnsembleData, train_ensemble


def train(recipe: EnsembleRecipe) -> None:
    """Train the predictor of a recipe, and save it."""
    recipe.check_output_dir(TextEnsemblePredictor.name)
    data = EnsembleData(recipe)
    print(f"{len(data.train)} training prompts, {len(data.captions)} further captions")
    predictor = train_ensemble(recipe, data)
    target = "mean_hbpp" if "mean_hbpp" in recipe.targets else recipe.targets[0]
    scores = data.evaluate(predictor, data.sources, target)
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe.output_dir, recipe.overwrite)
    print(json.dumps({"seed": recipe.seed, **scores}))
    print(f"saved to {recipe.output_dir}")


main = partial(run_script, train, EnsembleRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
