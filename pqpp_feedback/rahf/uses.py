"""Uses of feedback (RichHF paper, section 5): inpaint images, and select the best images."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from pqpp_feedback.assess.pictures import METADATA
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.foreign.images import open_image


@dataclass(frozen=True)
class InpaintedImage:
    """An inpainted image with its candidates.

    Attributes:
        image: The best candidate, or the original if none is better.
        mask: The repainted region, 255 inside.
        candidates: All candidates; outside the mask, they equal the original.
        scores: The predicted score of each candidate.
        original_score: The predicted score of the original.
        best: The index of the best candidate; -1 for the original.
    """

    image: Any
    mask: Any
    candidates: list[Any]
    scores: list[float]
    original_score: float
    best: int


def inpaint(
    pipe: Any,
    feedback: FeedbackModel,
    image: Any,
    prompt: str,
    candidates: int = 4,
    heatmap: str = "implausibility",
    score: str = "plausibility",
    threshold: float = 0.3,
    dilation: float = 0.03,
    seed: int = 0,
    keep_original: bool = True,
    **options: Any,
) -> InpaintedImage:
    """Repaint the marked regions of an image several times, and return the best result.

    Args:
        pipe: An inpainting pipeline of diffusers, called with `prompt`, `image`, `mask_image`.
        feedback: The model that marks the regions and scores the candidates.
        image: An image as for `open_image`.
        prompt: The prompt of the image.
        heatmap: The heatmap that becomes the mask.
        score: The name of the score to select by.
        threshold: Minimum heatmap value of a masked pixel.
        dilation: Width of a rim around the mask, as a fraction of the longer side.
        seed: Seed of the candidates: the n-th one uses `seed + n`.
        keep_original: Whether to return the original if no candidate is better.
        **options: Options of the pipeline, like `num_inference_steps`.
    """
    original = open_image(image)
    before = feedback.predict([original], [prompt])[0]
    mask = heatmap_to_mask(before.heatmaps[heatmap], original.size, threshold, dilation)
    results, scores, best = [], [], -1
    if np.asarray(mask).any():
        for n in range(candidates):
            # A generator on the CPU, so that a seed gives the same image on every device.
            generator = torch.Generator().manual_seed(seed + n)
            inputs = {"prompt": prompt, "image": original, "mask_image": mask}
            repainted = pipe(**inputs, generator=generator, **options).images[0].convert("RGB")
            repainted = repainted.resize(original.size, Image.Resampling.LANCZOS)
            # The pipeline's autoencoder also changes pixels outside the mask.
            results.append(Image.composite(repainted, original, mask))
        judged = feedback.predict(results, [prompt] * candidates)
        scores = [entry.scores[score] for entry in judged]
        best = int(np.argmax(scores))
        if keep_original and scores[best] <= before.scores[score]:
            best = -1
    image = original if best < 0 else results[best]
    return InpaintedImage(image, mask, results, scores, before.scores[score], best)


def heatmap_to_mask(
    heatmap: NDArray[np.floating],
    size: tuple[int, int],
    threshold: float = 0.3,
    dilation: float = 0.03,
) -> Any:
    """Return the mask to repaint: the high values of a heatmap, and a rim around them.

    Args:
        heatmap: `(height, width)` in 0 .. 1.
        size: Width and height of the mask.
        threshold: Lowest value of a masked pixel.
        dilation: Width of the rim, as a fraction of the longer side.

    Returns:
        A grey PIL image: 255 for masked pixels, 0 elsewhere.
    """
    values = Image.fromarray(np.clip(heatmap, 0, 1).astype(np.float32))
    values = np.asarray(values.resize(size, Image.Resampling.BILINEAR), dtype=np.float64)
    # Resizing rounds to single precision, so a value at the threshold must count.
    mask = np.where(values >= threshold * (1 - 1e-6), 255, 0).astype(np.uint8)
    return Image.fromarray(ndimage.maximum_filter(mask, 2 * round(dilation * max(size)) + 1))


@dataclass(frozen=True)
class SelectedImage:
    """The best image of a prompt, with its feedback."""

    prompt: str
    image: Any
    scores: dict[str, float]


def select_best_images(
    feedback: FeedbackModel,
    candidates: Iterable[tuple[str, Sequence[Any]]],
    score: str = "plausibility",
    threshold: float = 0.8,
) -> Iterator[SelectedImage]:
    """Yield the best image of each prompt that has images, if its score is high enough.

    Args:
        feedback: The model that scores.
        candidates: Pairs of a prompt and its images, as for `open_image`.
        score: The name of the score to select by.
        threshold: Minimum score of a selected image.
    """
    for prompt, images in candidates:
        if not images:
            continue
        feedback_by_image = feedback.predict(list(images), [prompt] * len(images))
        best = max(range(len(images)), key=lambda n: feedback_by_image[n].scores[score])
        if feedback_by_image[best].scores[score] >= threshold:
            yield SelectedImage(prompt, images[best], feedback_by_image[best].scores)


def write_finetuning_set(selected: Iterable[SelectedImage], folder: str | Path) -> Path:
    """Write selected images as a folder for `load_dataset("imagefolder", data_dir=...)`.

    The folder has one PNG file per image, and `metadata.jsonl` with `file_name`, `prompt` and
    scores.

    Raises:
        FeedbackError: The folder exists, nothing was selected, or an image cannot be read.
    """
    folder = Path(folder)
    if folder.exists():
        raise FeedbackError(f"{folder} already exists; choose a new folder")
    with atomic_folder(folder, ()) as temp_folder:
        lines = []
        for number, image in enumerate(selected):
            name = f"{number:06d}.png"
            # Convert any input to RGB, since PNG does not support CMYK.
            open_image(image.image).save(temp_folder / name)
            lines.append(json.dumps({"file_name": name, "prompt": image.prompt, **image.scores}))
        if not lines:
            raise FeedbackError("no image was selected; lower `threshold`, or add images")
        (temp_folder / METADATA[0]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
