"""The (prompt, image) pairs of rows, and the performance of rows from the scores of their pairs."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.target_columns import PQPP_TARGETS, get_measure, is_mean
from pqpp_models.errors import PredictorError
from pqpp_models.prompts import COLUMN, read_prompts, to_mappings
from pqpp_models.targets import Limits, get_limits

IMAGE_COLUMNS = (("prompt",), ("<model>_images", "images"))
"""The required columns of a row: at least one of each group."""


def read_mappings(rows: Any) -> list[Any]:
    """Return rows as a list of mappings, without decoding the images of a dataset.

    A prompt without a mapping becomes one; the rows can also be a table.

    Example:
        >>> read_mappings([{"prompt": "a cat", "images": []}])
        [{'prompt': 'a cat', 'images': []}]
    """
    if hasattr(rows, "cast_column") and hasattr(rows, "features"):
        from datasets import Image

        for name, feature in rows.features.items():
            if isinstance(feature, Image):
                rows = rows.cast_column(name, Image(decode=False))
            elif isinstance(getattr(feature, "feature", None), Image):
                rows = rows.cast_column(name, type(feature)(Image(decode=False)))
    return [row if isinstance(row, Mapping) else {COLUMN: row} for row in to_mappings(rows)]


ANY = ""
"""The model of images under `images`, which is unknown."""


def get_task(column: str) -> str | None:
    """Return the task of a target, `generation` or `retrieval`; None for another column.

    Example:
        >>> get_task("flux_rating"), get_task("siglip_p5"), get_task("prompt")
        ('generation', 'retrieval', None)
    """
    measure = get_measure(column)
    return measure.task if measure else None


_PQPP_PAIRS = [(n.rpartition("_")[0], get_task(n)) for n in PQPP_TARGETS if not is_mean(n)]


@functools.lru_cache(maxsize=256)
def find_image_models(columns: tuple[str, ...], task: str) -> tuple[str, ...]:
    """Return the models whose images are for a task, those of PQPP first.

    A row may contain images of both tasks. A model's images belong to the other task if the row has
    a target of that task for the model and none of this one, or if PQPP lists the model there.

    Example:
        >>> find_image_models(("prompt", "flux_images", "clip_images", "sdxl_images"), "generation")
        ('sdxl', 'flux')
        >>> find_image_models(("siglip_images", "siglip_p10", "glide_images"), "retrieval")
        ('siglip',)
    """
    available = {name.removesuffix("_images") for name in columns if name.endswith("_images")}
    pairs = [(name.rpartition("_")[0], get_task(name)) for name in columns if get_task(name)]
    pairs += [(name.removesuffix("_relevance"), "retrieval") for name in columns if "_rel" in name]
    known = {*pairs, *_PQPP_PAIRS}
    task_models = {model for model, model_task in known if model_task == task}
    other_models = {model for model, _ in known} - task_models
    listed = dict.fromkeys(model for model, _ in _PQPP_PAIRS)
    models = available - other_models
    return (*(model for model in listed if model in models), *sorted(models.difference(listed)))


@dataclass(frozen=True)
class Pairs:
    """The (prompt, image) pairs of some rows.

    Attributes:
        images: One per pair: an image, a path, or a mapping with `path` or `bytes`.
        row: The row index of each pair.
        model: The generation or retrieval model of each pair, `""` if unknown.
        rank: The rank of each image within its row and model, from 0.
        labels: Labels scaled to 0 .. 1; NaN if unknown.
    """

    prompts: list[str]
    images: list[Any]
    row: NDArray[np.int64]
    model: NDArray[np.str_]
    rank: NDArray[np.int64]
    labels: NDArray[np.float32]


def read_pairs(
    rows: Iterable[Mapping[str, Any]],
    task: str,
    first_k: int,
    measure: str = "hbpp",
    limits: tuple[float, float] | None = None,
) -> Pairs:
    """Return the (prompt, image) pairs of rows.

    A row has `prompt` and lists of images, `<model>_images` (for retrieval in their order of
    relevance), or `images` if the model is unknown; a single image needs no list. Labels are
    optional: for generation, `<model>_hbpp` or another measure is the label of all images of the
    model (`mean_hbpp` for `images`); for retrieval, `<model>_relevance` is a list of 0 and 1
    (`relevance` for `images`).

    Args:
        task: `generation` or `retrieval`.
        first_k: Number of retrieved images per model to use; all generated ones are used.
        measure: The measure of generation labels.
        limits: Lowest and highest label; default: those of the measure.

    Raises:
        PredictorError: A row has no prompt or no image.
    """

    def get_labels(row: Mapping[str, Any], model: str, n: int) -> list[float]:
        if task == "generation":
            target = f"{model or 'mean'}_{measure}"
            if row.get(target) is None:
                return [np.nan] * n
            (low,), (high,) = get_limits([target], limits and {target: limits})
            return [(row[target] - low) / (high - low)] * n
        values = row.get(f"{model}_relevance" if model else "relevance") or []
        known = [np.nan if value is None else float(value) for value in values[:n]]
        return known + [np.nan] * (n - len(known))

    rows = list(rows)
    prompts = read_prompts(rows)
    pairs: list[tuple[Any, int, str, int, float]] = []
    for index, row in enumerate(rows):
        n_before = len(pairs)
        for model in (*find_image_models(tuple(row), task), ANY):
            images = row.get(f"{model}_images" if model else "images") or []
            images = images if isinstance(images, list | tuple) else [images]
            images = images[:first_k] if task == "retrieval" else images
            labels = zip(images, get_labels(row, model, len(images)), strict=True)
            pairs += [(image, index, model, at, label) for at, (image, label) in enumerate(labels)]
        if len(pairs) == n_before:
            raise PredictorError(
                f"the row at index {index} has no image for {task}; add a list of images in the "
                "column <model>_images or images"
            )
    images, *columns = list(zip(*pairs, strict=True)) or [()] * 5
    dtypes: tuple[Any, ...] = (np.int64, np.str_, np.int64, np.float32)
    arrays = (np.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=True))
    return Pairs(prompts, list(images), *arrays)


def score_rows(
    scores: NDArray[np.float64],
    pairs: Pairs,
    targets: Sequence[str],
    aggregation: str,
    limits: Limits | None = None,
) -> NDArray[np.float64]:
    """Return the performance of each row from the scores of its pairs.

    HBPP and other ratings of generated images are means over the images, in the target's units; P@k
    and RR are computed from the predicted relevances; `mean_` targets are means over the models of
    a row. Images of an unknown model (`images`) count for every target.

    Args:
        scores: One score per pair, from 0 to 1.
        aggregation: `threshold` or `expected`, for P@k and RR.
        limits: See `pqpp_models.targets.get_limits`; needed for ratings and scores.

    Raises:
        PredictorError: A row has no images for a target.
    """
    import pandas as pd

    table = pd.DataFrame({"row": pairs.row, "model": pairs.model, "rank": pairs.rank})
    predicted = np.empty((len(pairs.prompts), len(targets)))
    for column, target in enumerate(targets):
        model, _, measure = target.rpartition("_")
        is_generation = get_task(target) == "generation"
        is_expected = is_generation or aggregation == "expected"
        selected = table.assign(score=scores if is_expected else (scores >= 0.5).astype(float))
        if model != "mean":
            selected = selected[selected["model"].isin([model, ANY])]
        groups = [selected["row"], selected["model"]]
        if is_generation:
            (low,), (high,) = get_limits([target], limits)
            values = (selected["score"].groupby(groups).mean() * (high - low) + low).clip(low, high)
        else:
            if measure == "rr":  # times the probability that no image before is relevant
                none = (1 - selected["score"]).groupby(groups).cumprod()
                weights = none.groupby(groups).shift(fill_value=1.0) / (selected["rank"] + 1)
            else:
                k = int(measure.removeprefix("p"))
                weights = (selected["rank"] < k) / k
            values = (weights * selected["score"]).groupby(groups).sum()
        predicted[:, column] = values.groupby("row").mean().reindex(range(len(predicted)))
        if (missing := np.isnan(predicted[:, column])).any():
            raise PredictorError(
                f"the row at index {missing.argmax()} has no images for {target!r}; add a list of "
                f"images in the column {'<model>' if model == 'mean' else model}_images or images"
            )
    return predicted
