"""What feedback is good for (RichHF paper, section 5): repairing images, choosing among them."""

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
class Inpainted:
    """An image before and after.

    Attributes:
        image: The kept image: the best candidate, or the original where none is better.
        mask: What was painted anew, 255 where so.
        candidates: All candidates; outside the mask each is the original, to the bit.
        scores: The predicted score of each candidate.
        original_score: That of the original.
        best: The number of the kept candidate; -1 if the original was kept.
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
) -> Inpainted:
    """Paint the marked regions of an image anew, several times, and keep the best.

    Args:
        pipe: An inpainting pipeline of diffusers: called with `prompt`, `image`, `mask_image`.
        feedback: Marks the regions and chooses.
        image: What `open_image` takes.
        prompt: What the image was generated from.
        candidates: How many are painted.
        heatmap: Which heatmap becomes the mask.
        score: Which score chooses.
        threshold: From which value on a pixel is painted anew.
        dilation: A rim around that, in parts of the longer side.
        seed: Of the candidates: the n-th one uses `seed + n`.
        keep_original: Keep the original if no candidate is better.
        **options: For the pipeline, like `num_inference_steps`.
    """
    original = open_image(image)
    judged = feedback.judge([original], [prompt])[0]
    mask = heatmap_to_mask(judged.heatmaps[heatmap], original.size, threshold, dilation)
    painted, scores, best = [], [], -1
    if np.asarray(mask).any():
        for n in range(candidates):
            # On the CPU, so that a seed paints the same on every device.
            generator = torch.Generator().manual_seed(seed + n)
            asked = {"prompt": prompt, "image": original, "mask_image": mask}
            made = pipe(**asked, generator=generator, **options)
            painted.append(paste(original, made.images[0], mask))
        scores = [answer.scores[score] for answer in feedback.judge(painted, [prompt] * candidates)]
        best = int(np.argmax(scores))
        if keep_original and scores[best] <= judged.scores[score]:
            best = -1
    image = original if best < 0 else painted[best]
    return Inpainted(image, mask, painted, scores, judged.scores[score], best)


def heatmap_to_mask(
    heatmap: NDArray[np.floating],
    size: tuple[int, int],
    threshold: float = 0.3,
    dilation: float = 0.03,
) -> Any:
    """Return the mask of what is to be painted anew: where a heatmap is high, and a rim around it.

    Args:
        heatmap: `(height, width)` in 0 .. 1.
        size: Width and height of the mask.
        threshold: From which value on a pixel is masked.
        dilation: Width of the rim in parts of the longer side.

    Returns:
        A grey image of PIL: 255 where masked, 0 elsewhere.
    """
    values = Image.fromarray(np.clip(heatmap, 0, 1).astype(np.float32))
    values = np.asarray(values.resize(size, Image.Resampling.BILINEAR), dtype=np.float64)
    # Resizing rounds in single precision: what is at the threshold stays at it.
    marked = values >= threshold * (1 - 1e-6)
    mask = np.where(marked, 255, 0).astype(np.uint8)
    return Image.fromarray(ndimage.maximum_filter(mask, 2 * round(dilation * max(size)) + 1))


def paste(original: Any, painted: Any, mask: Any) -> Any:
    """Return the original with what was painted where the mask is set, and only there.

    A pipeline's own output differs outside the mask too: its autoencoder changes every pixel.
    """
    painted = painted.convert("RGB").resize(original.size, Image.Resampling.LANCZOS)
    return Image.composite(painted, original, mask)


@dataclass(frozen=True)
class Selected:
    """The best image of a prompt, as it came, among how many candidates."""

    prompt: str
    image: Any
    scores: dict[str, float]
    candidates: int


def select_best(
    feedback: FeedbackModel,
    candidates: Iterable[tuple[str, Sequence[Any]]],
    score: str = "plausibility",
    threshold: float = 0.8,
) -> Iterator[Selected]:
    """Keep the best image of each prompt, if it is good enough.

    Args:
        feedback: The judge.
        candidates: Prompts with their images, of any form that `open_image` takes.
        score: The score that chooses.
        threshold: An image is kept from this score on.
    """
    for prompt, images in candidates:
        judged = feedback.judge(list(images), [prompt] * len(images))
        best = max(range(len(images)), key=lambda n: judged[n].scores[score])
        if judged[best].scores[score] >= threshold:
            yield Selected(prompt, images[best], judged[best].scores, len(images))


def write_finetuning_set(selected: Iterable[Selected], folder: str | Path) -> Path:
    """Write selected images as a folder that `load_dataset("imagefolder", data_dir=...)` reads.

    It has a PNG file an image and `metadata.jsonl` (`file_name`, `prompt`, scores), and appears
    when it is complete.

    Raises:
        FeedbackError: The folder exists, nothing was selected, or an image cannot be read.
    """
    folder = Path(folder)
    if folder.exists():
        raise FeedbackError(f"{folder} exists; name a new folder")
    with atomic_folder(folder, ()) as beside:
        lines = []
        for number, chosen in enumerate(selected):
            name = f"{number:06d}.png"
            # Whatever form it came in, and in RGB: PNG knows no CMYK.
            open_image(chosen.image).save(beside / name)
            lines.append(json.dumps({"file_name": name, "prompt": chosen.prompt, **chosen.scores}))
        if not lines:
            raise FeedbackError("no image reaches the threshold; lower it or generate more")
        (beside / METADATA[0]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
