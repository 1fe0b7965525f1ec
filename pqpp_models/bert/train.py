"""Fine-tune a text encoder to predict performance from prompts (PQPP, sections 5.1 and 11).

Examples::

  accelerate launch --quiet -m pqpp_cli train bert --config bert
  pqpp train bert --model sentence-transformers/all-MiniLM-L6-v2 --pooling mean
  pqpp train bert --dataset my_folder --targets mean_hbpp --epochs 4
  pqpp train bert --config bert --grid
  torchrun --nproc_per_node 2 -m pqpp_cli train bert --config bert --resume
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from pqpp_backbones.encoder.encoding import as_batch, score
from pqpp_backbones.encoder.normaliser import CURRENT, content
from pqpp_backbones.encoder.tokens import encode, length_sorted
from pqpp_backbones.pretrained import load_tokenizer
from pqpp_backbones.training.loop import Task, make_accelerator, predict_in_parts
from pqpp_backbones.training.state import Progress
from pqpp_files.options.option import option
from pqpp_models.bert.configuration_bert_predictor import POOLINGS
from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
from pqpp_models.bert.predictor import BertPredictor
from pqpp_models.targets import scale_targets
from pqpp_models.training.data import Rows, load_rows, scaled_correlations
from pqpp_models.training.recipe import PredictorRecipe
from pqpp_models.training.trainer import train_and_save, train_by_recipe


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


def advice(prompts: int) -> str:
    """Return whether so many prompts are worth the time, by what was measured on PQPP's.

    Example:
        >>> advice(500).partition("; ")[2]
        'you have 500, so try pqpp fit --encoder MODEL first'
    """
    if prompts < 3000:  # between the two that were measured
        return (
            "note: on 1,000 prompts kernel ridge on the encoder as it is did as well in a third of "
            f"the time; you have {prompts:,}, so try pqpp fit --encoder MODEL first"
        )
    return (
        "note: on 6,000 prompts fine-tuning gained over kernel ridge on the encoder as it is (pqpp "
        "fit --encoder MODEL): Pearson .437 against .411, Kendall .295 against .275"
    )


def train_bert(recipe: BertRecipe, training: Rows, validation: Rows) -> Progress:
    """Train one recipe, save its predictor and return how it went."""
    accelerator = make_accelerator(recipe)
    accelerator.print(advice(len(training)))
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
    length = model.config.max_length
    recipe = replace(recipe, max_length=length)
    tokenizer = load_tokenizer(recipe.model)
    pad_id = tokenizer.pad_token_id or 0
    encoded, held_out = (
        encode(tokenizer, [content(prompt) for prompt in rows.prompts], length)
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


def run(recipe: BertRecipe) -> None:
    """Read the data, and train once or over the grid."""
    train_by_recipe(recipe, BertPredictor.name, load_rows, train_bert)
