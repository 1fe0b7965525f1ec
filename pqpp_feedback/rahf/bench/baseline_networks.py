"""The paper's baselines (section 4.2.1): ResNet-50 with heads, CLIP tuned, CLIP as it is.

The two that learn have the same forward arguments and output as RAHF where they fit, so that they
are trained by the same loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import AutoModel

from pqpp_feedback.rahf.modeling_rahf import RahfOutput, squared_error
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_models.clip.modeling_clip_predictor import feature_size, pooled
from pqpp_models.images.embedding import pixels_of, tokens_of


class ResnetBaseline(nn.Module):
    """ResNets with dense layers for the scores and de-convolutions for the heatmaps.

    The paper tunes two networks, one for the scores and one for the heatmaps; so does this.

    Args:
        config: A `ResNetConfig`; that of ResNet-50 is the default of transformers.
        backbones: The two networks; with first weights if left out.
        dense_sizes: Outputs of the dense layers before the last.
        deconv_sizes: Filters of the de-convolutions, each of which doubles the map.
    """

    def __init__(
        self,
        config: Any,
        backbones: Sequence[nn.Module] | None = None,
        dense_sizes: Sequence[int] = (2048, 1024),
        deconv_sizes: Sequence[int] = (768, 384, 384, 192),
    ) -> None:
        super().__init__()
        self.backbone_config = config
        pair = backbones or [AutoModel.from_config(config) for _ in range(2)]
        self.score_backbone, self.heatmap_backbone = pair
        width = config.hidden_sizes[-1]
        dense = [width, *dense_sizes]
        layers: list[nn.Module] = []
        for i in range(len(dense) - 1):
            layers += [nn.Linear(dense[i], dense[i + 1]), nn.ReLU()]
        self.score_head = nn.Sequential(*layers, nn.Linear(dense[-1], len(SCORES)))
        sizes = [width, *deconv_sizes]
        blocks: list[nn.Module] = []
        for i in range(len(sizes) - 1):
            up = nn.ConvTranspose2d(sizes[i], sizes[i + 1], 3, 2, padding=1, output_padding=1)
            blocks += [up, nn.BatchNorm2d(sizes[i + 1]), nn.ReLU()]
        last = nn.Conv2d(sizes[-1], len(HEATMAPS), 3, padding=1)
        nn.init.constant_(last.bias, -3.0)  # most pixels are unmarked
        self.heatmap_head = nn.Sequential(*blocks, last)

    def forward(
        self,
        pixel_values: torch.Tensor,
        heatmap_labels: torch.Tensor | None = None,
        score_labels: torch.Tensor | None = None,
        **_: Any,
    ) -> RahfOutput:
        """Predict scores and heatmaps; the prompt is not looked at.

        Args:
            pixel_values: `(batch, 3, height, width)`.
            heatmap_labels: `(batch, 2, height, width)`.
            score_labels: `(batch, 4)`.
            **_: What RAHF takes beside.
        """
        pooled_features = self.score_backbone(pixel_values).pooler_output.flatten(1)
        found = RahfOutput(scores=torch.sigmoid(self.score_head(pooled_features).float()))
        features = self.heatmap_backbone(pixel_values).last_hidden_state
        found.heatmaps = torch.sigmoid(self.heatmap_head(features).float())
        if heatmap_labels is not None:
            size = heatmap_labels.shape[-2:]
            scaled = functional.interpolate(found.heatmaps, size, mode="bilinear")
            found.heatmap_loss = squared_error(scaled, heatmap_labels)
        if score_labels is not None:
            found.score_loss = squared_error(found.scores, score_labels)
        parts = [part for part in (found.heatmap_loss, found.score_loss) if part is not None]
        found.loss = torch.stack(parts).sum() if parts else None
        return found


class ClipBaseline(nn.Module):
    """A CLIP-like model with dense layers on both features, for the four scores.

    Args:
        clip: The model.
        dense_sizes: Outputs of the dense layers before the last.
    """

    def __init__(self, clip: Any, dense_sizes: Sequence[int] = (512, 256)) -> None:
        super().__init__()
        self.clip, self.backbone_config = clip, clip.config
        sizes = [feature_size(clip.config), *dense_sizes]
        layers: list[nn.Module] = []
        for i in range(len(sizes) - 1):
            layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU()]
        self.score_head = nn.Sequential(*layers, nn.Linear(sizes[-1], len(SCORES)))

    def forward(
        self,
        pixel_values: torch.Tensor,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        score_labels: torch.Tensor | None = None,
        **_: Any,
    ) -> RahfOutput:
        """Predict scores.

        Args:
            pixel_values: As the model's processor gives them.
            input_ids: The prompts, by the model's own tokenizer.
            attention_mask: Of the shape of `input_ids`.
            score_labels: `(batch, 4)`.
            **_: What RAHF takes beside.
        """
        text = self.clip.get_text_features(input_ids=input_ids, attention_mask=attention_mask)
        image = self.clip.get_image_features(pixel_values=pixel_values)
        features = torch.cat([unit(pooled(text)), unit(pooled(image))], dim=-1)
        found = RahfOutput(scores=torch.sigmoid(self.score_head(features).float()))
        if score_labels is not None:
            found.score_loss = found.loss = squared_error(found.scores, score_labels)
        return found


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Return vectors of length 1."""
    return functional.normalize(vectors, dim=-1)


@torch.inference_mode()
def clip_similarity(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str], batch_size: int = 32
) -> NDArray[np.float64]:
    """Return the cosine similarity of each image and its prompt: the alignment of an untuned CLIP.

    Args:
        clip: A CLIP-like model.
        processor: Its processor.
        images: What `open_image` takes.
        prompts: One an image.
        batch_size: Images at once.
    """
    found = []
    for start in range(0, len(images), batch_size):
        some = slice(start, start + batch_size)
        found.append(_similarity(clip, processor, images[some], prompts[some])[0].cpu())
    return torch.cat(found).double().numpy() if found else np.empty(0)


def clip_gradient_heatmaps(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str], size: int
) -> NDArray[np.float32]:
    """Return where the similarity of image and prompt depends on the pixels.

    The size of the gradient of the similarity at each pixel, summed over the channels, averaged to
    the wanted size and scaled to a maximum of 1: the paper's baseline for misalignment.

    Args:
        clip: A CLIP-like model.
        processor: Its processor.
        images: What `open_image` takes.
        prompts: One an image.
        size: Pixels along a side of the heatmaps.

    Returns:
        `(images, size, size)` in 0 .. 1.
    """
    similarity, pixels = _similarity(clip, processor, images, prompts, needs_gradient=True)
    (gradient,) = torch.autograd.grad(similarity.sum(), pixels)
    sizes = gradient.abs().sum(dim=1, keepdim=True)
    found = functional.interpolate(sizes, (size, size), mode="area")[:, 0]
    highest = found.amax(dim=(1, 2), keepdim=True).clamp(min=1e-12)
    return (found / highest).float().cpu().numpy()


def _similarity(
    clip: Any, processor: Any, images: Any, prompts: Any, needs_gradient: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = tokens_of(processor, prompts, clip.config)
    tokens = {name: value.to(clip.device) for name, value in tokens.items()}
    pixels = pixels_of(processor, images).to(clip.device).requires_grad_(needs_gradient)
    text = unit(pooled(clip.get_text_features(**tokens)))
    image = unit(pooled(clip.get_image_features(pixel_values=pixels)))
    return (text * image).sum(dim=-1), pixels
