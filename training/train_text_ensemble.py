"""Train the text ensemble: the best predictor that sees prompts only.

Kernel ridge regression and small networks on a frozen encoder and on a file of captions of the
collection; for generation also the same encoder, fine-tuned. The validation split is scored at the
end. With --folds 5 the whole recipe is cross-validated inside the train split instead, and nothing
is saved.
"""

import json

import numpy as np

from pqpp_backbones.training.script import or_exit, script_imports

with script_imports("train_text_ensemble"):
    from pqpp_files.options.recipe import parse_recipe
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.text.text_ensemble.predictor import TextEnsemblePredictor
    from pqpp_models.text.training.builds import EnsembleData, train_ensemble
    from pqpp_models.text.training.data import score_table
    from pqpp_models.text.training.recipe import EnsembleRecipe

EXAMPLES = """\
  python training/train_text_ensemble.py --config training/recipes/text_ensemble.yaml \\
      --captions captions.txt"""


def cross_validate(recipe: EnsembleRecipe, data: EnsembleData) -> None:
    """Train without each part of the train split and print what that predicts of the part."""
    rows = np.random.default_rng(recipe.seed).permutation(len(data.train))
    for part in np.array_split(rows, recipe.folds):
        predictor = train_ensemble(recipe, data, np.setdiff1d(rows, part))
        held = data.train.select(part)
        scores = score_table(predictor.predict(held.prompts), held.targets, recipe.targets)
        print(json.dumps(scores), flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Train, or cross-validate, what the flags and the recipe ask for."""
    recipe = parse_recipe(EnsembleRecipe, __doc__, EXAMPLES, arguments)
    if not recipe.folds:
        recipe.check_output(TextEnsemblePredictor.name)
    data = EnsembleData(recipe, BertForPerformancePrediction.from_backbone)
    print(f"{len(data.train)} training prompts, {len(data.captions)} further captions")
    if recipe.folds:
        return cross_validate(recipe, data)
    predictor = train_ensemble(recipe, data, np.arange(len(data.train)))
    target = "mean_hbpp" if "mean_hbpp" in recipe.targets else recipe.targets[0]
    scores = data.evaluate(predictor, data.sources, target)
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe.output_dir)
    print(json.dumps({"seed": recipe.seed, **scores}))
    print(f"saved to {recipe.output_dir}")


if __name__ == "__main__":
    or_exit(main)
