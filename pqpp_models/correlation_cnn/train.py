r"""Train a CNN on the similarities among a prompt's result images (PQPP, sections 5.2 and 11).

Examples::

  accelerate launch --quiet -m pqpp_cli train correlation_cnn --image_dir pqpp_images \
      --config correlation_cnn_generation
  pqpp train correlation_cnn --dataset my_folder --channels 2 \
      --config correlation_cnn_retrieval
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pqpp_backbones.images.embedding import load_backbone
from pqpp_backbones.pretrained import load_processor
from pqpp_backbones.training.batches import in_order
from pqpp_backbones.training.loop import Task, make_accelerator, predict_in_parts
from pqpp_backbones.training.state import Progress
from pqpp_files.options.option import option
from pqpp_models.correlation_cnn.configuration_correlation_cnn import CorrelationCnnConfig
from pqpp_models.correlation_cnn.matrices import cosine_similarities, fit_size, matrices_of
from pqpp_models.correlation_cnn.modeling_correlation_cnn import (
    CorrelationCnnForPerformancePrediction,
)
from pqpp_models.correlation_cnn.predictor import CorrelationCnnPredictor, score_matrices
from pqpp_models.images.pairs import read_pairs, task_of
from pqpp_models.images.rows import read_mappings
from pqpp_models.images.scoring import cached_embeddings
from pqpp_models.targets import scale_targets
from pqpp_models.training.data import Rows, load_rows, scaled_correlations
from pqpp_models.training.recipe import PredictorRecipe
from pqpp_models.training.trainer import train_and_save, train_by_recipe


@dataclass(kw_only=True)
class CnnRecipe(PredictorRecipe):
    """What the network is trained by; `model` embeds the images where rows hold images."""

    model: str = option("openai/clip-vit-base-patch32", "CLIP-like model that embeds images")
    output_dir: str = option("runs/correlation_cnn")
    image_dir: str | None = option(
        None, "folder of the images, those of PQPP or of the dataset", path="folder"
    )
    targets: list[str] = option(["mean_hbpp"], "targets, with commas")
    channels: int = option(1, "matrices a row: one a retrieval model")
    matrix_size: int = option(4, "results a matrix: 4 for generation, 25 for retrieval")
    cache_dir: str = option("runs/embeddings", "cache of the images' features", path="output")


def read_labelled_matrices(recipe: CnnRecipe, split: str) -> tuple[Rows, np.ndarray]:
    """Load a split; return its rows and their matrices."""
    rows = load_rows(recipe, split, images=True)
    mappings = read_mappings(rows.table)
    if any(name.endswith("images") for name in rows.table.column_names):
        return rows, matrices_of_images(recipe, mappings)
    return rows, matrices_of(mappings, recipe.channels, recipe.matrix_size)


def matrices_of_images(recipe: CnnRecipe, mappings: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Embed the rows' images; one channel a retrieval model, all generated images in one."""
    retrieves = recipe.channels > 1 or {*map(task_of, recipe.targets)} == {"retrieval"}
    task = "retrieval" if retrieves else "generation"
    pairs = read_pairs(mappings, task, recipe.matrix_size)
    backbone = load_backbone(recipe.model).eval()
    processor = load_processor(recipe.model)
    embedded = cached_embeddings(Path(recipe.cache_dir), backbone, processor, pairs, 256)["images"]
    stacked = []
    for index in range(len(mappings)):
        mine = pairs.row == index
        models = np.unique(pairs.model[mine]) if task == "retrieval" else [None]
        groups = [mine if model is None else mine & (pairs.model == model) for model in models]
        matrices = [cosine_similarities(embedded[group])[None] for group in groups]
        fitted = [fit_size(matrix, recipe.matrix_size) for matrix in matrices]
        stacked.append({"similarities": np.concatenate(fitted)})
    return matrices_of(stacked, recipe.channels, recipe.matrix_size)


def train_cnn(
    recipe: CnnRecipe, training: tuple[Rows, np.ndarray], validation: tuple[Rows, np.ndarray]
) -> Progress:
    """Train one recipe, save its predictor and return how it went."""
    (rows, matrices), (held_out_rows, held_out) = training, validation
    accelerator = make_accelerator(recipe)
    model = CorrelationCnnForPerformancePrediction(
        CorrelationCnnConfig(
            targets=recipe.targets,
            limits=rows.limits or None,
            channels=recipe.channels,
            matrix_size=recipe.matrix_size,
        )
    )
    labels = scale_targets(rows.targets, recipe.targets, rows.limits).astype(np.float32)

    def collate(indices):
        return {
            "similarities": torch.from_numpy(matrices[indices]),
            "labels": torch.from_numpy(labels[indices]),
        }

    def evaluate(model, accelerator):
        scores = predict_in_parts(
            accelerator,
            in_order(len(held_out), recipe.batch_size),
            lambda indices: score_matrices(model, held_out[indices], recipe.batch_size),
        )
        return scaled_correlations(scores, recipe.targets, rows, held_out_rows)

    task = Task(
        model=model,
        examples=list(range(len(rows))),
        collate=collate,
        evaluate=evaluate,
        head="output",
    )

    def predictor_of(trained, details):
        return CorrelationCnnPredictor(trained, details=details)

    return train_and_save(task, recipe, accelerator, rows, held_out_rows, predictor_of)


def run(recipe: CnnRecipe) -> None:
    """Read the data, and train once or over the grid."""
    train_by_recipe(recipe, CorrelationCnnPredictor.name, read_labelled_matrices, train_cnn)
