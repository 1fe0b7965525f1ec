"""The paper's baselines that learn nothing (section 4.2.1): CLIP's similarity and its gradient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from pqpp_backbones.images import embedding
from pqpp_backbones.pretrained import load_processor, usual_device
from pqpp_feedback.rahf.bench.evaluation import PredictedSplit, feedback_figures, truth_of
from pqpp_feedback.rahf.examples import Examples
from pqpp_feedback.rahf.outputs import SCORES


def clip_baselines(
    name: str, table: Any, batch_size: int = 16, size: int = 224
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures of CLIP's similarity (alignment) and of its gradient (misalignment).

    Args:
        name: A CLIP-like model, a folder or a name on the Hub.
        table: As `load_split` gives it.
        batch_size: Images that are judged at once.
        size: Side of the heatmaps.
    """
    clip = embedding.load_backbone(name).eval().to(usual_device())
    processor = load_processor(name)
    examples, parts = Examples(table, processor, size), []
    for start in range(0, len(examples), batch_size):
        prompts = examples.prompts[start : start + batch_size]
        images = [examples.decoded(start + n)[0] for n in range(len(prompts))]
        parts.append(similarity_and_gradient(clip, processor, images, prompts, size))
    similarity, gradient = map(np.concatenate, zip(*parts, strict=True))
    scores = np.full((len(examples), len(SCORES)), np.nan)
    scores[:, SCORES.index("alignment")] = similarity
    predicted = {
        f"CLIP similarity ({name})": PredictedSplit(scores=scores),
        f"CLIP gradient ({name})": PredictedSplit(misalignment=gradient),
    }
    truth = truth_of(examples)
    return {line: feedback_figures(split, truth) for line, split in predicted.items()}


def similarity_and_gradient(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the cosine of each image and its prompt, and where it depends on the pixels.

    The size of the gradient of the similarity at each pixel, summed over the channels, averaged to
    the wanted size and scaled to a maximum of 1: the paper's baseline for misalignment.

    Returns:
        `(images,)`, and `(images, size, size)` in 0 .. 1.
    """
    pixels = embedding.pixels_of(processor, images).to(clip.device).requires_grad_()
    words = embedding.placed_tokens(clip, processor, prompts)
    both = embedding.embed_tokens(clip, **words), embedding.embed_pixels(clip, pixels)
    text, image = (functional.normalize(features, dim=-1) for features in both)
    similarity = (text * image).sum(dim=-1)
    (gradient,) = torch.autograd.grad(similarity.sum(), pixels)
    sizes = gradient.abs().sum(dim=1, keepdim=True)
    maps = functional.interpolate(sizes, (size, size), mode="area")[:, 0]
    maps = maps / maps.amax(dim=(1, 2), keepdim=True).clamp(min=1e-12)
    return similarity.detach().double().cpu().numpy(), maps.float().cpu().numpy()
