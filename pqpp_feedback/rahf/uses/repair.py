"""Painting implausible regions anew (RichHF paper, section 5), with any inpainting pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES, check_choice
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import open_image

_OWN_OPTIONS = {"generator": "give `seed` instead", "mask_image": "the heatmap becomes the mask"}


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

    Raises:
        PredictorError: A name is unknown, no candidate is asked for, or an option for the
            pipeline is set here or makes it return something else than images.
    """
    if candidates < 1:
        raise PredictorError(f"`candidates` is {candidates}; it must be 1 or more")
    check_choice("heatmap", heatmap, HEATMAPS)
    check_choice("score", score, SCORES)
    _check_options(options)
    original = open_image(image)
    judged = feedback.judge([original], [prompt])[0]
    mask = heatmap_to_mask(judged.heatmaps[heatmap], original.size, threshold, dilation)
    before = judged.scores[score]
    if not np.asarray(mask).any():
        return Inpainted(original, mask, [], [], before, -1)
    painted = [
        paste(original, _paint(pipe, original, mask, prompt, seed + n, options), mask)
        for n in range(candidates)
    ]
    scores = [one.scores[score] for one in feedback.judge(painted, [prompt] * candidates)]
    best = int(np.argmax(scores))
    if keep_original and scores[best] <= before:
        return Inpainted(original, mask, painted, scores, before, -1)
    return Inpainted(painted[best], mask, painted, scores, before, best)


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

    Raises:
        PredictorError: The threshold or the rim is out of its range.
    """
    from PIL import Image, ImageFilter

    if not 0 < threshold <= 1:
        raise PredictorError(f"`threshold` is {threshold}; it must be above 0 and at most 1")
    if not 0 <= dilation < 1:
        raise PredictorError(f"`dilation` is {dilation}; it must be from 0 up to 1")
    values = Image.fromarray(np.clip(heatmap, 0, 1).astype(np.float32))
    values = np.asarray(values.resize(size, Image.Resampling.BILINEAR), dtype=np.float64)
    # Resizing rounds in single precision: what is at the threshold stays at it.
    marked = values >= threshold * (1 - 1e-6)
    mask = Image.fromarray(np.where(marked, 255, 0).astype(np.uint8))
    rim = round(dilation * max(size))
    # A square of growing side, a few pixels at a time: large filters of PIL are slow.
    while rim > 0:
        step = min(rim, 4)
        mask = mask.filter(ImageFilter.MaxFilter(2 * step + 1))
        rim -= step
    return mask


def paste(original: Any, painted: Any, mask: Any) -> Any:
    """Return the original with what was painted where the mask is set, and only there.

    A pipeline's own output differs outside the mask too: its autoencoder changes every pixel.
    """
    from PIL import Image

    painted = painted.convert("RGB").resize(original.size, Image.Resampling.LANCZOS)
    return Image.composite(painted, original, mask)


def _paint(pipe: Any, image: Any, mask: Any, prompt: str, seed: int, options: Any) -> Any:
    import torch

    # On the CPU, so that a seed paints the same on every device.
    generator = torch.Generator().manual_seed(seed)
    found = pipe(prompt=prompt, image=image, mask_image=mask, generator=generator, **options)
    return found.images[0]


def _check_options(options: dict[str, Any]) -> None:
    for name, remedy in _OWN_OPTIONS.items():
        if name in options:
            raise PredictorError(f"`{name}` is set by inpaint itself; leave it out ({remedy})")
    for name, only in (("output_type", "pil"), ("return_dict", True)):
        if options.get(name, only) != only:
            raise PredictorError(
                f"`{name}` is {options[name]!r}; only {only!r} gives images to choose among"
            )
