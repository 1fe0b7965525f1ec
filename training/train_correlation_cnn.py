r"""Train a CNN on the similarities among a prompt's result images (PQPP, sections 5.2 and 11).

Examples::

  accelerate launch training/train_correlation_cnn.py --image-dir pqpp_images \
      --config correlation_cnn_generation
  pqpp train correlation_cnn --dataset my_folder --channels 2 \
      --config correlation_cnn_retrieval
"""

from functools import partial

import numpy as np
import torch
from pqpp_training.options import CnnRecipe
from transformers import EvalPrediction, set_seed

from pqpp_backbones.training.publish import check_model_folder
from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_backbones.training.trainer import Outcome, PerformanceTrainer, to_training_arguments
from pqpp_models.correlation_cnn.modeling_correlation_cnn import (
    CorrelationCnnConfig,
    CorrelationCnnForPerformancePrediction,
)
from pqpp_models.correlation_cnn.predictor import (
    ENCODER,
    CorrelationCnnPredictor,
    compute_image_similarities,
    has_images,
    load_encoder,
    stack_matrices,
)
from pqpp_models.images.pairs import read_mappings
from pqpp_models.targets import scale_targets
from pqpp_models.training.data import correlate_scores, load_rows
from pqpp_models.training.save import save_predictor


def train(recipe: CnnRecipe) -> Outcome:
    """Train and save a predictor, and return the outcome."""
    check_model_folder(recipe, CorrelationCnnPredictor.name)
    arguments = to_training_arguments(recipe)
    training = load_rows(recipe, recipe.train_split, images=True)
    validation = load_rows(recipe, recipe.validation_split, images=True)

    encoder = load_encoder(recipe.model) if has_images(training.table.column_names) else None

    def make_examples(rows):
        labels = scale_targets(rows.targets, recipe.targets, training.limits).astype(np.float32)
        mappings = read_mappings(rows.table)
        if encoder:
            mappings = compute_image_similarities(mappings, encoder, recipe)
        matrices = stack_matrices(mappings, recipe.channels, recipe.matrix_size)
        pairs = zip(matrices, labels, strict=True)
        return [{"similarities": matrix, "labels": row} for matrix, row in pairs]

    def collate(batch):
        names = ("similarities", "labels")
        return {n: torch.from_numpy(np.stack([row[n] for row in batch])) for n in names}

    def compute_metrics(prediction: EvalPrediction):
        return correlate_scores(prediction.predictions, recipe.targets, training, validation)

    set_seed(recipe.seed)
    config = CorrelationCnnConfig(
        targets=recipe.targets,
        limits=training.limits or None,
        channels=recipe.channels,
        matrix_size=recipe.matrix_size,
    )
    trainer = PerformanceTrainer(
        recipe,
        CorrelationCnnForPerformancePrediction(config),
        arguments,
        head="output",
        train_dataset=make_examples(training),
        eval_dataset=make_examples(validation),
        data_collator=collate,
        compute_metrics=compute_metrics,
    )
    outcome = trainer.fit()
    if trainer.is_world_process_zero():
        details = {ENCODER: encoder.identity.revision} if encoder else None
        predictor = CorrelationCnnPredictor(trainer.model, details=details)
        save_predictor(predictor, recipe, training, validation, outcome)
    return outcome


main = partial(run_script, train, CnnRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
