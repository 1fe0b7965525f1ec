r"""Fine-tune a CLIP-like model on (prompt, image) pairs (PQPP, sections 5.2 and 11).

Examples::

  accelerate launch training/train_clip.py --config clip_generation --image-dir pqpp_images
  pqpp train clip --model google/siglip-base-patch16-224 --tuning lora \
      --targets mean_hbpp --image-dir pqpp_images
  pqpp train clip --config clip_retrieval --dataset my_folder
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from pqpp_training.options import ClipRecipe
from transformers import EvalPrediction, set_seed

from pqpp_backbones.images.embedding import to_pixels, tokenize
from pqpp_backbones.pretrained import load_processor
from pqpp_backbones.training.publish import check_model_folder
from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_backbones.training.trainer import Outcome, PerformanceTrainer, to_training_arguments
from pqpp_datasets.target_columns import get_measure, get_targets
from pqpp_files.errors import PqppError
from pqpp_models.clip.modeling_clip_predictor import (
    ClipForPerformancePrediction,
    embed_pairs,
    merge_adapters,
    prepare_tuning,
)
from pqpp_models.clip.predictor import ClipPredictor
from pqpp_models.images.pairs import Pairs, get_task, read_mappings, read_pairs, score_rows
from pqpp_models.training.data import Rows, correlate_targets, load_rows
from pqpp_models.training.save import save_predictor


def read_labelled_pairs(recipe: ClipRecipe, split: str) -> tuple[Rows, Pairs]:
    """Load the rows of a split, and their (prompt, image) pairs."""
    rows = load_rows(recipe, split, images=True)
    measures = {target.rpartition("_")[2] for target in recipe.targets}
    if recipe.task == "generation" and len(measures) > 1:
        raise PqppError(
            "all `targets` must use the same measure, because each image has only one score; got "
            f"{', '.join(recipe.targets)}; choose targets of one measure"
        )
    if invalid := [name for name in recipe.targets if get_task(name) != recipe.task]:
        raise PqppError(f"{invalid[0]!r} is not a target of `task` {recipe.task!r}; change `task`")
    rows = replace(rows, limits=get_common_limits(rows, recipe.targets))
    limits, mappings = next(iter(rows.limits.values()), None), read_mappings(rows.table)
    return rows, read_pairs(mappings, recipe.task, recipe.first_k, min(measures), limits)


def get_common_limits(rows: Rows, targets: list[str]) -> dict[str, tuple[float, float]]:
    """Return the same limits for all targets, since the images of all models share one scale.

    Example:
        >>> from datasets import Dataset
        >>> table = Dataset.from_dict({"flux_rating": [1.0, 5.0], "sdxl_rating": [None, None]})
        >>> rows = Rows([], np.empty(0), table, {"flux_rating": (1, 5)})
        >>> get_common_limits(rows, ["flux_rating"])
        {'flux_rating': (1, 5)}
    """
    if not rows.limits:
        return {}
    ends = list(rows.limits.values())
    for name, described in get_targets(rows.table.features).items():
        values = [value for value in rows.table[name] if value is not None]
        if values and get_measure(name) == get_measure(targets[0]):
            ends.append(described.limits or (min(values), max(values)))
    common = (min(low for low, _ in ends), max(high for _, high in ends))
    return dict.fromkeys(targets, common)


def train(recipe: ClipRecipe) -> Outcome:
    """Train and save a predictor, and return the outcome."""
    check_model_folder(recipe, ClipPredictor.name)
    arguments = to_training_arguments(recipe)
    rows, training = read_labelled_pairs(recipe, recipe.train_split)
    validation_rows, validation = read_labelled_pairs(recipe, recipe.validation_split)
    labelled = np.flatnonzero(~np.isnan(training.labels))
    if not len(labelled):
        raise PqppError(
            "no image has a label; add a column like <model>_hbpp, or <model>_relevance for "
            "retrieval"
        )
    set_seed(recipe.seed)
    model = ClipForPerformancePrediction.from_backbone(
        recipe.model,
        targets=recipe.targets,
        limits=rows.limits or None,
        task=recipe.task,
        head_dropout=recipe.head_dropout,
        first_k=recipe.first_k,
        aggregation=recipe.aggregation,
    ).to(arguments.device)
    processor = load_processor(recipe.model)
    if recipe.tuning == "frozen":
        size = recipe.per_device_train_batch_size
        splits = (training, validation)
        features = [embed_pairs(model.backbone, processor, pairs, size) for pairs in splits]
    prepare_tuning(model, recipe.tuning, recipe.lora_rank, recipe.lora_alpha)

    def collate(batch: list[tuple[int, int]]):
        pairs, indices = (training, validation)[batch[0][0]], [pair for _, pair in batch]
        labels = {"labels": torch.from_numpy(pairs.labels[indices])}
        if recipe.tuning == "frozen":
            text, images = (torch.from_numpy(part[indices]) for part in features[batch[0][0]])
            return {"text_embeds": text, "image_embeds": images, **labels}
        prompts = [pairs.prompts[row] for row in pairs.row[indices]]
        tokens = tokenize(processor, prompts, model.config.backbone_config)
        pixels = to_pixels(processor, [pairs.images[pair] for pair in indices])
        return {**tokens, "pixel_values": pixels, **labels}

    def compute_metrics(prediction: EvalPrediction):
        scores = prediction.predictions[:, 0].astype(float)
        predicted = score_rows(scores, validation, recipe.targets, recipe.aggregation, rows.limits)
        return correlate_targets(predicted, validation_rows.targets, recipe.targets)

    trainer = PerformanceTrainer(
        recipe,
        model,
        arguments,
        head="head",
        train_dataset=[(0, pair) for pair in labelled.tolist()],
        eval_dataset=[(1, pair) for pair in range(len(validation.row))],
        data_collator=collate,
        compute_metrics=compute_metrics,
    )
    outcome = trainer.fit()
    if trainer.is_world_process_zero():
        merge_adapters(trainer.model, recipe.tuning)
        predictor = ClipPredictor(trainer.model, processor)
        save_predictor(predictor, recipe, rows, validation_rows, outcome)
    return outcome


main = partial(run_script, train, ClipRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
