r"""Fine-tune a CLIP-like model on (prompt, image) pairs (PQPP, sections 5.2 and 11).

Examples::

  accelerate launch --quiet -m pqpp_cli train clip --config clip_generation \
      --image_dir pqpp_images
  pqpp train clip --model google/siglip-base-patch16-224 --tuning lora \
      --targets mean_hbpp --image_dir pqpp_images
  pqpp train clip --config clip_retrieval --dataset my_folder
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pqpp_backbones.images.embedding import pixels_of, tokens_of
from pqpp_backbones.pretrained import load_processor
from pqpp_backbones.training.batches import in_order
from pqpp_backbones.training.loop import Task, is_sharded, make_accelerator, predict_in_parts
from pqpp_backbones.training.state import Progress
from pqpp_datasets.target_columns import measure_of, targets_of
from pqpp_files.options.option import RecipeError, option
from pqpp_models.clip.configuration_clip_predictor import AGGREGATIONS, TASKS
from pqpp_models.clip.modeling_clip_predictor import ClipForPerformancePrediction
from pqpp_models.clip.predictor import ClipPredictor
from pqpp_models.clip.tuning import TUNINGS, merge, prepare
from pqpp_models.images.pairs import Pairs, performance, read_pairs, task_of
from pqpp_models.images.rows import read_mappings
from pqpp_models.images.scoring import (
    cached_embeddings,
    score_embedded,
    score_pairs,
    score_pairs_whole,
)
from pqpp_models.training.data import Rows, correlations, load_rows
from pqpp_models.training.recipe import PredictorRecipe
from pqpp_models.training.trainer import train_and_save, train_by_recipe


@dataclass(kw_only=True)
class ClipRecipe(PredictorRecipe):
    """What a CLIP-like model is trained by."""

    model: str = option("openai/clip-vit-base-patch32", "pretrained CLIP-like model")
    output_dir: str = option("runs/clip")
    image_dir: str | None = option(
        None, "folder of the images, those of PQPP or of the dataset", path="folder"
    )
    targets: list[str] = option(["mean_hbpp"], "targets, with commas")
    task: str = option("generation", "which images and head", TASKS)
    tuning: str = option("full", "what learns beside the head", TUNINGS)
    lora_rank: int = option(8, "rank of the adapters, with --tuning lora", above=0)
    lora_alpha: int = option(16, "scale of the adapters")
    head_dropout: float = option(0.5, "dropout in the head")
    first_k: int = option(25, "retrieved images of a model that are looked at")
    aggregation: str = option("threshold", "how relevances become P@10 and RR", AGGREGATIONS)
    cache_dir: str = option(
        "runs/embeddings", "cache of features, with --tuning frozen", path="output"
    )


def read_labelled_pairs(recipe: ClipRecipe, split: str) -> tuple[Rows, Pairs]:
    """Load a split and take its rows apart into pairs."""
    rows = load_rows(recipe, split, images=True)
    measures = {target.rpartition("_")[2] for target in recipe.targets}
    if recipe.task == "generation" and len(measures) > 1:
        raise RecipeError(
            f"`targets` are {', '.join(recipe.targets)}; an image has one score, so name targets "
            "of one measure"
        )
    if wrong := [name for name in recipe.targets if task_of(name) != recipe.task]:
        raise RecipeError(
            f"{wrong[0]!r} is not a target of the task {recipe.task!r}; choose `task`"
        )
    rows = replace(rows, limits=common_limits(rows, recipe.targets))
    limits = next(iter(rows.limits.values()), None)
    pairs = read_pairs(
        read_mappings(rows.table), recipe.task, recipe.first_k, min(measures), limits
    )
    return rows, pairs


def common_limits(rows: Rows, targets: list[str]) -> dict[str, tuple[float, float]]:
    """Return the same limits for all targets: an image is scored on one scale, whoever made it."""
    if not rows.limits:
        return {}
    columns = [c for c in rows.table.column_names if measure_of(c) == measure_of(targets[0])]
    described = targets_of(rows.table.features)
    ends = list(rows.limits.values())
    for column in columns:
        values = [value for value in rows.table[column] if value is not None]
        ends.append(described[column].limits or (min(values), max(values)))
    common = (min(low for low, _ in ends), max(high for _, high in ends))
    return dict.fromkeys(targets, common)


def frozen_task(
    recipe: ClipRecipe, model: Any, processor: Any, training: Pairs, held_out: Pairs
) -> tuple[Callable[..., dict[str, torch.Tensor]], Callable[..., np.ndarray]]:
    """Return collate and the scoring of validation pairs, on features computed once."""
    cache = Path(recipe.cache_dir)
    seen = cached_embeddings(cache, model.backbone, processor, training, recipe.batch_size)
    unseen = cached_embeddings(cache, model.backbone, processor, held_out, recipe.batch_size)

    def collate(pairs):
        return {
            "text_embeds": torch.from_numpy(seen["text"][training.row[pairs]]),
            "image_embeds": torch.from_numpy(seen["images"][pairs]),
            "labels": torch.from_numpy(training.labels[pairs]),
        }

    def score(model, indices, sharded):
        text, images = unseen["text"][held_out.row[indices]], unseen["images"][indices]
        return score_embedded(model, text, images, recipe.batch_size)

    return collate, score


def live_task(
    recipe: ClipRecipe, model: Any, processor: Any, training: Pairs, held_out: Pairs
) -> tuple[Callable[..., dict[str, torch.Tensor]], Callable[..., np.ndarray]]:
    """Return collate and the scoring of validation pairs, from prompts and images each time."""
    config = model.config.backbone_config

    def collate(pairs):
        prompts = [training.prompts[row] for row in training.row[pairs]]
        images = [training.images[pair] for pair in pairs]
        return {
            **tokens_of(processor, prompts, config),
            "pixel_values": pixels_of(processor, images),
            "labels": torch.from_numpy(training.labels[pairs]),
        }

    def score(model, indices, sharded):
        some = Pairs(
            [held_out.prompts[row] for row in held_out.row[indices]],
            [held_out.images[pair] for pair in indices],
            np.arange(len(indices)),
            held_out.model[indices],
            held_out.rank[indices],
            held_out.labels[indices],
        )
        score = score_pairs_whole if sharded else score_pairs
        return score(model, processor, some, recipe.batch_size)

    return collate, score


def train_clip(
    recipe: ClipRecipe, training: tuple[Rows, Pairs], validation: tuple[Rows, Pairs]
) -> Progress:
    """Train one recipe, save its predictor and return how it went."""
    (rows, pairs), (held_out_rows, held_out) = training, validation
    known = np.flatnonzero(~np.isnan(pairs.labels))
    if not len(known):
        raise RecipeError(
            "no pair has a label; a row needs <model>_hbpp, or another measure, for its images, or "
            "<model>_relevance for the task retrieval"
        )
    accelerator = make_accelerator(recipe)
    model = ClipForPerformancePrediction.from_backbone(
        recipe.model,
        targets=recipe.targets,
        limits=rows.limits or None,
        task=recipe.task,
        head_dropout=recipe.head_dropout,
        first_k=recipe.first_k,
        aggregation=recipe.aggregation,
    ).to(accelerator.device)
    processor = load_processor(recipe.model)
    make_task = frozen_task if recipe.tuning == "frozen" else live_task
    collate, score = make_task(recipe, model, processor, pairs, held_out)
    prepare(model, recipe.tuning, recipe.lora_rank, recipe.lora_alpha)
    batches = in_order(len(held_out.row), recipe.batch_size)

    def evaluate(model, accelerator):
        sharded = is_sharded(accelerator)
        usable = model if sharded else accelerator.unwrap_model(model)
        scores = predict_in_parts(
            accelerator, batches, lambda indices: score(usable, indices, sharded)[:, None]
        )
        predicted = performance(
            scores[:, 0], held_out, recipe.targets, recipe.aggregation, rows.limits
        )
        return correlations(predicted, held_out_rows.targets, recipe.targets)

    task = Task(
        model=model, examples=known.tolist(), collate=collate, evaluate=evaluate, head="head"
    )

    def predictor_of(trained, details):
        merge(trained, recipe.tuning)
        return ClipPredictor(trained, processor, details)

    return train_and_save(task, recipe, accelerator, rows, held_out_rows, predictor_of)


def run(recipe: ClipRecipe) -> None:
    """Read the data, and train once or over the grid."""
    train_by_recipe(recipe, ClipPredictor.name, read_labelled_pairs, train_clip)
