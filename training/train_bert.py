"""Fine-tune a text encoder to predict performance from prompts (PQPP, sections 5.1 and 11).

Examples::

  accelerate launch training/train_bert.py --config bert
  pqpp train bert --model sentence-transformers/all-MiniLM-L6-v2 --pooling mean
  pqpp train bert --dataset my_folder --targets mean_hbpp --num-train-epochs 4
  torchrun --nproc_per_node 2 -m pqpp_training.train_bert --config bert
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from pqpp_training.options import BertRecipe
from transformers import EvalPrediction, set_seed

from pqpp_backbones.encoder.encoding import to_batch
from pqpp_backbones.encoder.normaliser import normalise_prompt
from pqpp_backbones.encoder.tokens import encode
from pqpp_backbones.pretrained import load_tokenizer
from pqpp_backbones.training.publish import check_model_folder
from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_backbones.training.trainer import Outcome, PerformanceTrainer, to_training_arguments
from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
from pqpp_models.bert.predictor import BertPredictor
from pqpp_models.targets import scale_targets
from pqpp_models.training.data import correlate_scores, load_rows
from pqpp_models.training.save import save_predictor


def train(recipe: BertRecipe) -> Outcome:
    """Train and save a predictor, and return the outcome."""
    check_model_folder(recipe, BertPredictor.name)
    arguments = to_training_arguments(recipe)
    training = load_rows(recipe, recipe.train_split)
    validation = load_rows(recipe, recipe.validation_split)

    def scale(rows):
        return scale_targets(rows.targets, recipe.targets, training.limits).astype("float32")

    set_seed(recipe.seed)
    model = BertForPerformancePrediction.from_backbone(
        recipe.model,
        targets=recipe.targets,
        limits=training.limits or None,
        pooling=recipe.pooling,
        head_size=recipe.head_size,
        head_dropout=recipe.head_dropout,
        max_length=recipe.max_length,
        target_weights=(1 / np.nanvar(scale(training), axis=0)).tolist()
        if recipe.balanced
        else None,
    )
    recipe = replace(recipe, max_length=model.config.max_length)
    tokenizer = load_tokenizer(recipe.model)

    def make_examples(rows):
        prompts = [normalise_prompt(prompt) for prompt in rows.prompts]
        return [*zip(encode(tokenizer, prompts, recipe.max_length), scale(rows), strict=True)]

    def collate(batch):
        labels = torch.from_numpy(np.stack([row for _, row in batch]))
        inputs = to_batch([ids for ids, _ in batch], tokenizer.pad_token_id or 0)
        return {**inputs, "labels": labels}

    def compute_metrics(prediction: EvalPrediction):
        return correlate_scores(prediction.predictions, recipe.targets, training, validation)

    encoded = make_examples(training)
    trainer = PerformanceTrainer(
        recipe,
        model,
        arguments,
        head="head",
        lengths=[len(ids) for ids, _ in encoded] if recipe.group_by_length else None,
        train_dataset=encoded,
        eval_dataset=make_examples(validation),
        data_collator=collate,
        compute_metrics=compute_metrics,
    )
    outcome = trainer.fit()
    if trainer.is_world_process_zero():
        predictor = BertPredictor(trainer.model, tokenizer)
        save_predictor(predictor, recipe, training, validation, outcome)
    return outcome


main = partial(run_script, train, BertRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
