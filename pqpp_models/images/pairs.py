"""From rows with images to (prompt, image) pairs, and from the pairs' scores to performance."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import PredictorError

# Per task: the models whose images a row may hold, `<model>_images`. A row with the images of one
# model that is not among them names the column `images`.
MODELS = {"generation": ("glide", "sdxl"), "retrieval": ("clip", "blip2")}
ANY = ""
CUT = 10  # of P@10


def image_columns(task: str) -> tuple[tuple[str, ...], ...]:
    """Return what a row must hold for a task, of each group at least one column.

    Example:
        >>> image_columns("generation")
        (('prompt',), ('glide_images', 'sdxl_images', 'images'))
    """
    return (("prompt",), (*(f"{model}_images" for model in MODELS[task]), "images"))


@dataclass(frozen=True)
class Pairs:
    """The (prompt, image) pairs of some rows.

    Attributes:
        images: One image a pair: an image, a path or a mapping with `path` or `bytes`.
        row: The row of each pair.
        model: The generation or retrieval model of each pair's image, `""` where it is not told.
        rank: The place of each pair's image among those of its row and model, from 0.
        labels: What the pair is trained on, scaled to 0 .. 1; NaN where it is not known.
    """

    prompts: list[str]
    images: list[Any]
    row: NDArray[np.int64]
    model: NDArray[np.str_]
    rank: NDArray[np.int64]
    labels: NDArray[np.float32]


def read_pairs(rows: Iterable[Mapping[str, Any]], task: str, first_k: int) -> Pairs:
    """Take rows apart into pairs.

    A row has `prompt` and lists of images: for generation `glide_images` and `sdxl_images`, for
    retrieval `clip_images` and `blip2_images` in their order of relevance, or `images` where the
    model is another one. Labels, if there are any: for generation `<model>_hbpp` for each of that
    model's images (`mean_hbpp` for `images`), for retrieval the list `<model>_relevance` of 0 and 1
    (`relevance` for `images`).

    Args:
        task: `generation` or `retrieval`.
        first_k: How many retrieved images of a model are taken; all generated ones are.

    Raises:
        PredictorError: A row is no mapping, or has no prompt or no image.
    """
    prompts: list[str] = []
    found: list[tuple[Any, int, str, int, float]] = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping) or not isinstance(row.get("prompt"), str):
            raise PredictorError(
                f"the row at index {index} is no mapping with 'prompt' and images; write "
                '{"prompt": "a wave", "images": [image, other_image]}'
            )
        prompts.append(row["prompt"])
        before = len(found)
        for model in (*MODELS[task], ANY):
            images = row.get(f"{model}_images" if model else "images") or []
            images = images[:first_k] if task == "retrieval" else images
            labels = _labels(row, model, task, len(images))
            found += [
                (image, index, model, rank, label)
                for rank, (image, label) in enumerate(zip(images, labels, strict=True))
            ]
        if len(found) == before:
            columns = ", ".join(f"{model}_images" for model in MODELS[task])
            raise PredictorError(f"the row at index {index} has no image; give {columns} or images")
    columns = list(zip(*found, strict=True)) or [()] * 5
    return Pairs(
        prompts,
        list(columns[0]),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.str_),
        np.array(columns[3], dtype=np.int64),
        np.array(columns[4], dtype=np.float32),
    )


def _labels(row: Mapping[str, Any], model: str, task: str, n: int) -> list[float]:
    if task == "generation":
        value = row.get(f"{model or 'mean'}_hbpp")
        return [np.nan if value is None else (value + 1) / 3] * n
    values = row.get(f"{model}_relevance" if model else "relevance") or []
    known = [np.nan if value is None else float(value) for value in values[:n]]
    return known + [np.nan] * (n - len(known))


def performance(
    scores: NDArray[np.float64], pairs: Pairs, targets: Sequence[str], aggregation: str
) -> NDArray[np.float64]:
    """Aggregate the scores of pairs to the performance of each row.

    HBPP is the mean over the images, back in its own units and range; P@10 and RR are computed on
    the predicted relevances, `mean_` being the mean over the models that a row has. An image of an
    unnamed model (`images`) counts for every target.

    Args:
        scores: One a pair: performance or relevance, scaled to 0 .. 1.
        aggregation: `threshold` or `expected`, for P@10 and RR.

    Raises:
        PredictorError: A row lacks the images that a target needs.
    """

    def value(model: NDArray[np.bool_], measure: str) -> NDArray[np.float64]:
        rows, ranks, n = pairs.row[model], pairs.rank[model], len(pairs.prompts)
        if measure == "hbpp":
            return np.clip(3 * _means(scores[model], rows, n) - 1, -1, 2)
        return _of_ranking(scores[model], rows, ranks, n, measure, aggregation)

    return _over_models(pairs, targets, value)


def mean_over_images(
    scores: NDArray[np.float64], pairs: Pairs, targets: Sequence[str]
) -> NDArray[np.float64]:
    """Return the mean score over the images that each target is about, in the scores' own units.

    Raises:
        PredictorError: A row lacks the images that a target needs.
    """
    return _over_models(
        pairs, targets, lambda model, _: _means(scores[model], pairs.row[model], len(pairs.prompts))
    )


def _over_models(
    pairs: Pairs,
    targets: Sequence[str],
    value: Callable[[NDArray[np.bool_], str], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Average over the models that a target is about what `value` says of each of them."""
    n = len(pairs.prompts)
    found = np.empty((n, len(targets)))
    for column, target in enumerate(targets):
        wanted, _, measure = target.rpartition("_")
        sums, counts = np.zeros(n), np.zeros(n)
        for model in np.unique(pairs.model):
            if wanted not in ("mean", model) and model != ANY:
                continue
            values = value(pairs.model == model, measure)
            has = ~np.isnan(values)
            sums[has] += values[has]
            counts += has
        if (counts == 0).any():
            row = int(np.flatnonzero(counts == 0)[0])
            raise PredictorError(
                f"the row at index {row} has no images to predict {target!r} from; give "
                f"{'images' if wanted == 'mean' else f'{wanted}_images or images'}"
            )
        found[:, column] = sums / counts
    return found


def _means(scores: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return the mean score of each row, NaN for a row without a score."""
    with np.errstate(invalid="ignore"):
        return np.bincount(rows, weights=scores, minlength=n) / np.bincount(rows, minlength=n)


def _of_ranking(scores, rows, ranks, n, measure, aggregation) -> NDArray[np.float64]:
    """Return P@10 or RR of each row, NaN for a row without an image of this model."""
    present = np.bincount(rows, minlength=n) > 0
    relevance = (scores >= 0.5).astype(float) if aggregation == "threshold" else scores
    if measure == "p10":
        top = ranks < CUT
        values = np.bincount(rows[top], weights=relevance[top], minlength=n) / CUT
    else:
        table = np.zeros((n, int(ranks.max(initial=0)) + 1))
        table[rows, ranks] = relevance
        # The chance that an image is the first relevant one, over its rank.
        none_before = np.cumprod(np.column_stack([np.ones(n), 1 - table[:, :-1]]), axis=1)
        values = (none_before * table / np.arange(1, table.shape[1] + 1)).sum(axis=1)
    return np.where(present, values, np.nan)


def open_image(value: Any) -> Any:
    """Return an RGB image from an image, an array, a path, or a mapping with `path` or `bytes`.

    Grey values of 16 bit are scaled to 8.

    Raises:
        PredictorError: It is none of these, or cannot be read; a path is named.

    Example:
        >>> grey = np.full((1, 1), 257 * 100, dtype=np.uint16)
        >>> open_image(grey).getpixel((0, 0))  # doctest: +SKIP
        (100, 100, 100)
    """
    from PIL import Image

    if isinstance(value, Mapping):
        content = value.get("bytes")
        value = io.BytesIO(content) if content is not None else value.get("path")
    try:
        if isinstance(value, np.ndarray):
            return _in_8_bit(Image.fromarray(value)).convert("RGB")
        opened = value if isinstance(value, Image.Image) else Image.open(value)
        return _in_8_bit(opened).convert("RGB")
    except (*_UNREADABLE, Image.DecompressionBombError) as error:
        which = f"the image {value}" if isinstance(value, (str, os.PathLike)) else "an image"
        raise PredictorError(
            f"{which} could not be read ({type(error).__name__}); give images, paths or arrays "
            "of 8 bit, or grey ones of 16"
        ) from None


# A damaged PNG is a SyntaxError for pillow.
_UNREADABLE = (OSError, AttributeError, TypeError, ValueError, SyntaxError)


def _in_8_bit(image: Any) -> Any:
    """Return a grey image of 16 bit scaled to 8; pillow itself would cut all above 255."""
    from PIL import Image

    # Older versions of pillow open such a PNG in the mode of 32 bit.
    is_png = image.mode == "I" and image.format == "PNG"
    if not (is_png or image.mode.startswith("I;16")):
        return image
    grey = (np.asarray(image).astype(np.int64) + 128) // 257
    return Image.fromarray(grey.astype(np.uint8))
