"""The paper's baseline that learns nothing (section 4.2.1): CLIP's similarity and its gradient."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from pqpp_backbones.images.embedding import pixels_of, pooled, tokens_of


@torch.inference_mode()
def clip_similarity(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str]
) -> NDArray[np.float64]:
    """Return the cosine similarity of each image and its prompt: the alignment of an untuned CLIP.

    The images are judged at once, by a CLIP-like model and its processor.
    """
    return _similarity(clip, processor, images, prompts)[0].double().cpu().numpy()


def clip_gradient_heatmaps(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str], size: int
) -> NDArray[np.float32]:
    """Return where the similarity of image and prompt depends on the pixels.

    The size of the gradient of the similarity at each pixel, summed over the channels, averaged to
    the wanted size and scaled to a maximum of 1: the paper's baseline for misalignment.

    Returns:
        `(images, size, size)` in 0 .. 1.
    """
    similarity, pixels = _similarity(clip, processor, images, prompts, needs_gradient=True)
    (gradient,) = torch.autograd.grad(similarity.sum(), pixels)
    sizes = gradient.abs().sum(dim=1, keepdim=True)
    maps = functional.interpolate(sizes, (size, size), mode="area")[:, 0]
    highest = maps.amax(dim=(1, 2), keepdim=True).clamp(min=1e-12)
    return (maps / highest).float().cpu().numpy()


def _similarity(
    clip: Any, processor: Any, images: Any, prompts: Any, needs_gradient: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = tokens_of(processor, prompts, clip.config)
    tokens = {name: value.to(clip.device) for name, value in tokens.items()}
    pixels = pixels_of(processor, images).to(clip.device).requires_grad_(needs_gradient)
    text, image = _unit_features(clip, tokens, pixels)
    return (text * image).sum(dim=-1), pixels


def _unit_features(clip: Any, tokens: Mapping[str, Any], pixels: torch.Tensor) -> list:
    """Return the text and the image features, each of length 1."""
    both = clip.get_text_features(**tokens), clip.get_image_features(pixel_values=pixels)
    return [functional.normalize(pooled(features), dim=-1) for features in both]
