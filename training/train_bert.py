"""Fine-tune a text encoder to predict performance from prompts (PQPP, sections 5.1 and 11)."""

from dataclasses import dataclass, replace

import numpy as np

from pqpp_backbones.training.script import run_script, script_imports

with script_imports("train_bert"):
    import torch

    from pqpp_backbones.encoder.encoding import as_batch, score
    from pqpp_backbones.encoder.normaliser import CURRENT, content
    from pqpp_backbones.encoder.tokens import encode, length_sorted
    from pqpp_backbones.pretrained import load_tokenizer
    from pqpp_backbones.training.loop import Task, make_accelerator, predict_in_parts
    from pqpp_files.options.option import option
    from pqpp_models.bert.configuration_bert_predictor import POOLINGS
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.predictor import BertPredictor
    from pqpp_models.targets import scale_targets
    from pqpp_models.training.data import Rows, load_rows, scaled_correlations
    from pqpp_models.training.recipe import PredictorRecipe
    from pqpp_models.training.trainer import train_and_save, train_by_recipe

EXAMPLES = """\
  accelerate launch --quiet training/train_bert.py --config training/recipes/bert.yaml
  python training/train_bert.py --model sentence-transformers/all-MiniLM-L6-v2 --pooling mean
  python training/train_bert.py --dataset my_folder --targets mean_hbpp --epochs 4
  python training/train_bert.py --config training/recipes/bert.yaml --grid
  torchrun --nproc_per_node 2 training/train_bert.py --config training/recipes/bert.yaml --resume"""


@dataclass(kw_only=True)
class BertRecipe(PredictorRecipe):
    """What a text encoder is trained by."""

    output_dir: str = option("runs/bert")
    pooling: str = option("cls", "what of the last layer the head gets", POOLINGS)
    head_size: int = option(512, "units of the head's hidden layer")
    head_dropout: float = option(0.3, "dropout before it")
    max_length: int | None = option(
        None, "tokens after which a prompt is cut; 128, or what the encoder takes, if left out"
    )
    length_sorted: bool = option(True, "put prompts of like length in a batch, still shuffled")
    balanced: bool = option(False, "divide each target's squared error by the target's variance")


def train_bert(recipe: BertRecipe, training: Rows, validation: Rows):
    """Train one recipe, save its predictor and return how it went."""
    accelerator = make_accelerator(recipe)
    labels = scale_targets(training.targets, recipe.targets, training.limits).astype("float32")
    weights = (1 / np.nanvar(labels, axis=0)).tolist() if recipe.balanced else None
    model = BertForPerformancePrediction.from_backbone(
        recipe.model,
        targets=recipe.targets,
        limits=training.limits or None,
        pooling=recipe.pooling,
        head_size=recipe.head_size,
        head_dropout=recipe.head_dropout,
        max_length=recipe.max_length,
        target_weights=weights,
        normaliser=CURRENT,
    )
    recipe = replace(recipe, max_length=model.config.max_length)
    tokenizer = load_tokenizer(recipe.model)
    pad_id = tokenizer.pad_token_id or 0
    encoded, held_out = (
        encode(tokenizer, [content(prompt) for prompt in rows.prompts], recipe.max_length)
        for rows in (training, validation)
    )
    batches = length_sorted([len(ids) for ids in held_out], recipe.batch_size)

    def collate(examples):
        scores = torch.from_numpy(np.stack([row for _, row in examples]))
        return {**as_batch([ids for ids, _ in examples], pad_id), "labels": scores}

    def evaluate(model, accelerator):
        def predict(indices):
            rows = [held_out[i] for i in indices]
            return score(model, rows, pad_id, recipe.batch_size, len(recipe.targets))

        scores = predict_in_parts(accelerator, batches, predict)
        return scaled_correlations(scores, recipe.targets, training, validation)

    task = Task(
        model=model,
        examples=list(zip(encoded, labels, strict=True)),
        lengths=[len(ids) for ids in encoded] if recipe.length_sorted else None,
        collate=collate,
        evaluate=evaluate,
        head="head",
    )

    def predictor_of(trained, details):
        return BertPredictor(trained, tokenizer, details)

    return train_and_save(task, recipe, accelerator, training, validation, predictor_of)


def main() -> None:
    """Read the recipe and the data, train once or over the grid."""
    train_by_recipe(BertRecipe, BertPredictor.name, load_rows, train_bert, __doc__, EXAMPLES)


if __name__ == "__main__":
    run_script(main)
