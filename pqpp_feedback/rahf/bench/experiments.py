"""RichHF's benchmark: models and the paper's baselines on a split, as the paper's four tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_feedback.rahf.bench.evaluation import (
    PredictedSplit,
    Truth,
    feedback_figures,
    predict_split,
    score_figures,
    truth_of,
)
from pqpp_feedback.rahf.bench.tables import tables
from pqpp_feedback.rahf.examples import Examples, counted, is_published, load_split, map_array
from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_feedback.rahf.outputs import SCORES
from pqpp_models.errors import CheckpointError, PredictorError
from pqpp_models.images.pairs import open_image
from pqpp_models.pretrained import loading


def bench_richhf(
    models: Sequence[str],
    split: str = "test",
    data_dir: str | None = None,
    pickapic_dir: str | None = None,
    clip: str | None = None,
    limit: int | None = None,
    batch_size: int = 16,
    with_published: bool = True,
) -> dict[str, dict[str, Any]]:
    """Evaluate models on a split of RichHF.

    Args:
        models: Folders or repositories of RAHF models, and folders of baselines that
            training/train_rahf_baselines.py trained.
        split: `train`, `validation` or `test`.
        data_dir: Folder of the TFRecord files; downloaded if left out.
        pickapic_dir: Folder of a copy of Pick-a-Pic v1.
        clip: A CLIP-like model for the baselines that learn nothing: its similarity as the
            alignment score, its gradient as the misalignment heatmap.
        limit: Only the first rows.
        batch_size: Images at once.
        with_published: Whether the published figures stand beside.

    Returns:
        The four tables as `tables.tables` gives them, with the split and its number of images as
        `data`; `tables.format_tables` prints them.

    Raises:
        PredictorError: Nothing is to be evaluated, a number is not above 0, or the data are not
            there.
    """
    if not models and clip is None:
        raise PredictorError("no model was named; give a RAHF model's folder or repository")
    for name, value in (("limit", limit), ("batch_size", batch_size)):
        if value is not None and value < 1:
            raise PredictorError(f"`{name}` is {value}; it must be 1 or more")
    table = load_split(split, data_dir, pickapic_dir, limit=limit)
    images = counted(len(table), is_published(split, data_dir))
    found = {name: figures_of(name, table, batch_size) for name in models}
    if clip is not None:
        found |= clip_baselines(clip, table, batch_size)
    return tables(found, with_published, f"richhf, {split} split, {images}")


def figures_of(name: str, table: Any, batch_size: int = 16) -> dict[str, dict[str, float]]:
    """Evaluate a RAHF model or a trained baseline on the rows of a split."""
    from pqpp_feedback.rahf.bench.baselines import TrainedBaseline

    if TrainedBaseline.is_saved_in(name):
        baseline = TrainedBaseline.from_pretrained(name)
        baseline.model.to(_device())
        examples = baseline.examples(table)
        return feedback_figures(baseline.predict(examples, batch_size), truth_of(examples))
    model = FeedbackModel.from_pretrained(name)
    examples = Examples(table, model.processor, model.model.config.heatmap_size)
    return feedback_figures(predict_split(model, examples, batch_size), truth_of(examples))


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def clip_baselines(
    name: str, table: Any, batch_size: int = 16, size: int = 224
) -> dict[str, dict[str, dict[str, float]]]:
    """Evaluate CLIP's similarity and gradient on the rows of a split.

    Args:
        name: A CLIP-like model.
        table: From `load_split`.
        batch_size: Images at once.
        size: Pixels along a side of the heatmaps.
    """
    from pqpp_feedback.rahf.bench.baselines import clip_gradient_heatmaps, clip_similarity

    clip, processor = _loaded_clip(name)
    scores = np.full((len(table), len(SCORES)), np.nan)
    predicted, true = [], []
    for start in range(0, len(table), batch_size):
        rows = table[start : start + batch_size]
        images = [open_image(image) for image in rows["image"]]
        some = slice(start, start + len(images))
        similarity = clip_similarity(clip, processor, images, rows["prompt"])
        scores[some, SCORES.index("alignment")] = similarity
        predicted.append(clip_gradient_heatmaps(clip, processor, images, rows["prompt"], size))
        true += [map_array(open_image(m).convert("L"), size) for m in rows["misalignment_map"]]
    people = np.array([table[column][:] for column in SCORES], dtype=np.float64).T
    # Only the misalignment heatmap is judged: the other map and the words are never looked at.
    truth = Truth(people, np.stack(true), np.stack(true), [None] * len(true))
    gradient = PredictedSplit(misalignment=np.concatenate(predicted))
    return {
        f"CLIP similarity ({name})": {"scores": score_figures(scores, people)},
        f"CLIP gradient ({name})": feedback_figures(gradient, truth),
    }


def _loaded_clip(name: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoProcessor

    remedy = "give a folder or OWNER/REPOSITORY"
    with loading(f"{name} holds no usable CLIP-like model", remedy, name):
        clip = AutoModel.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
        processor = AutoProcessor.from_pretrained(name, trust_remote_code=False)
    if not hasattr(clip, "get_image_features"):
        raise CheckpointError(f"{name} is a {type(clip).__name__}; give a CLIP-like model")
    return clip.eval().to(_device()), processor
