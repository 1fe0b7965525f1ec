r"""Train a CNN on the similarities among a prompt's result images (PQPP, sections 5.2 and 11).

Examples::

  accelerate launch training/train_correlation_cnn.py --image-dir pqpp_images \
      --config correlation_cnn_generation
  pqpp train correlation_cnn --dataset my_folder --channels 2 \
      --config correlation_cnn_retrieval
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from pqpp_training.options import CnnRecipe
from transformers import EvalPrediction, set_seed

from pqpp_backbones.images.embedding import embed_images, load_backbone
from pqpp_backbones.pretrained import load_processor
from pqpp_backbones.training.publish import check_model_folder
from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_backbones.training.trainer import Outcome, PerformanceTrainer, to_training_arguments
from pqpp_models.correlation_cnn.modeling_correlation_cnn import (
    CorrelationCnnConfig,
    CorrelationCnnForPerformancePrediction,
)
from pqpp_models.correlation_cnn.predictor import (
    CorrelationCnnPredictor,
    compute_cosine_similarities,
    pad_or_crop,
    stack_matrices,
)
from pqpp_models.images.pairs import get_task, read_mappings, read_pairs
from pqpp_models.targets import scale_targets
from pqpp_models.training.data import Rows, correlate_scores, load_rows
from pqpp_models.training.save import save_predictor


def read_matrices(recipe: CnnRecipe, rows: Rows) -> np.ndarray:
    """Return the similarity matrices of rows, computed from the images if rows contain them."""
    mappings = read_mappings(rows.table)
    if any(name.endswith("images") for name in rows.table.column_names):
        mappings = compute_image_similarities(recipe, mappings)
    return stack_matrices(mappings, recipe.channels, recipe.matrix_size)


def compute_image_similarities(
    recipe: CnnRecipe, mappings: Sequence[Mapping[str, Any]]
) -> list[dict[str, np.ndarray]]:
    """Return similarities of the rows' images, by retrieval model or for all generated images."""
    is_retrieval = recipe.channels > 1 or {*map(get_task, recipe.targets)} == {"retrieval"}
    task = "retrieval" if is_retrieval else "generation"
    pairs = read_pairs(mappings, task, recipe.matrix_size)
    backbone, processor = load_backbone(recipe.model).eval(), load_processor(recipe.model)
    embeddings = embed_images(backbone, processor, pairs.images, 256)
    models = pairs.model if task == "retrieval" else np.zeros_like(pairs.row)
    similarities = []
    for index in range(len(mappings)):
        in_row = pairs.row == index
        groups = [in_row & (models == model) for model in np.unique(models[in_row])]
        matrices = [compute_cosine_similarities(embeddings[group])[None] for group in groups]
        resized = [pad_or_crop(matrix, recipe.matrix_size) for matrix in matrices]
        similarities.append({"similarities": np.concatenate(resized)})
    return similarities


def train(recipe: CnnRecipe) -> Outcome:
    """Train and save a predictor, and return the outcome."""
    check_model_folder(recipe, CorrelationCnnPredictor.name)
    arguments = to_training_arguments(recipe)
    training = load_rows(recipe, recipe.train_split, images=True)
    validation = load_rows(recipe, recipe.validation_split, images=True)

    def make_examples(rows):
        labels = scale_targets(rows.targets, recipe.targets, training.limits).astype(np.float32)
        matrices = read_matrices(recipe, rows)
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
        predictor = CorrelationCnnPredictor(trainer.model)
        save_predictor(predictor, recipe, training, validation, outcome)
    return outcome


main = partial(run_script, train, CnnRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
