"""RichHF's benchmark: models and CLIP baselines on a split, as the paper's four tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_models.errors import PredictorError
from pqpp_models.rahf.evaluation import (
    Predictions,
    evaluate,
    predict_split,
    score_figures,
    tables,
    truth_of,
)
from pqpp_models.rahf.examples import Examples, load_split
from pqpp_models.rahf.feedback import FeedbackModel
from pqpp_models.rahf.labels import SCORES


def bench_richhf(
    models: Sequence[str],
    split: str = "test",
    data_dir: str | None = None,
    pickapic_dir: str | None = None,
    clip: str | None = None,
    limit: int | None = None,
    batch_size: int = 16,
) -> dict[str, dict[str, Any]]:
    """Evaluate models on a split of RichHF.

    Args:
        models: Folders or repositories of RAHF models.
        split: `train`, `validation` or `test`.
        data_dir: Folder of the TFRecord files; downloaded if left out.
        pickapic_dir: Folder of a copy of Pick-a-Pic v1.
        clip: A CLIP-like model for the baselines that learn nothing: its similarity as the
            alignment score, its gradient as the misalignment heatmap.
        limit: Only the first rows.
        batch_size: Images at once.

    Returns:
        The four tables as `evaluation.tables` gives them; `evaluation.render_markdown` prints them.

    Raises:
        PredictorError: Nothing is to be evaluated, or the data are not there.
    """
    if not models and clip is None:
        raise PredictorError("no model was named; give a RAHF model's folder or repository")
    table = load_split(split, data_dir, pickapic_dir)
    if limit is not None:
        table = table.select(range(min(limit, len(table))))
    found = {}
    for name in models:
        model = FeedbackModel.from_pretrained(name)
        examples = Examples(table, model.processor, model.model.config.heatmap_size)
        found[name] = evaluate(predict_split(model, examples, batch_size), truth_of(examples))
    if clip is not None:
        found |= clip_baselines(clip, table, batch_size)
    return tables(found)


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
    from transformers import AutoModel, AutoProcessor

    from pqpp_models.clip.pairs import open_image
    from pqpp_models.rahf.baselines import clip_gradient_heatmaps, clip_similarity
    from pqpp_models.rahf.examples import map_array

    clip = AutoModel.from_pretrained(name, use_safetensors=True).eval()
    processor = AutoProcessor.from_pretrained(name)
    scores = np.full((len(table), len(SCORES)), np.nan)
    predicted, true = [], []
    for start in range(0, len(table), batch_size):
        rows = table[start : start + batch_size]
        images = [open_image(image) for image in rows["image"]]
        some = slice(start, start + len(images))
        similarity = clip_similarity(clip, processor, images, rows["prompt"], batch_size)
        scores[some, SCORES.index("alignment")] = similarity
        predicted.append(clip_gradient_heatmaps(clip, processor, images, rows["prompt"], size))
        true += [map_array(open_image(m).convert("L"), size) for m in rows["misalignment_map"]]
    people = np.array([table[column][:] for column in SCORES], dtype=np.float64).T
    heatmaps = _only_misalignment(np.concatenate(predicted), np.stack(true), people)
    return {
        f"CLIP similarity ({name})": {"scores": score_figures(scores, people)},
        f"CLIP gradient ({name})": heatmaps,
    }


def _only_misalignment(predicted: Any, true: Any, scores: Any) -> dict[str, dict[str, float]]:
    from pqpp_models.rahf.evaluation import Truth

    truth = Truth(scores, true, true, [None] * len(true))
    return evaluate(Predictions(misalignment=predicted), truth)
