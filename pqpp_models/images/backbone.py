"""Pretrained models that embed texts and images alike: CLIP, SigLIP and their kin."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModel, PreTrainedModel

from pqpp_models.errors import CheckpointError
from pqpp_models.pretrained import loading

_NEEDED = ("get_text_features", "get_image_features")


def load_backbone(name_or_path: str) -> PreTrainedModel:
    """Return a pretrained CLIP-like model.

    Raises:
        CheckpointError: There is no such model, or it is of another kind.
    """
    remedy = "name a folder or OWNER/REPOSITORY of one, like openai/clip-vit-base-patch32"
    what = f"{name_or_path} is no CLIP-like model that transformers can load"
    with loading(what, remedy, name_or_path):
        backbone = AutoModel.from_pretrained(
            name_or_path, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        )
    if not all(hasattr(backbone, name) for name in _NEEDED):
        raise CheckpointError(
            f"{name_or_path} holds a model of type {backbone.config.model_type!r}, which does "
            f"not embed both texts and images; {remedy}"
        )
    return backbone


def embed_tokens(backbone: Any, **inputs: torch.Tensor) -> torch.Tensor:
    """Return the features of tokenized prompts, `(prompts, size)`."""
    return pooled(backbone.get_text_features(**inputs))


def embed_pixels(backbone: Any, pixel_values: torch.Tensor) -> torch.Tensor:
    """Return the features of prepared images, `(images, size)`."""
    return pooled(backbone.get_image_features(pixel_values=pixel_values))


def pooled(output: Any) -> torch.Tensor:
    """Return the features that `get_text_features` gives, a tensor or an output that holds it."""
    return output if isinstance(output, torch.Tensor) else output.pooler_output


def feature_size(config: Any) -> int:
    """Return how many numbers the text and the image features have together.

    Example:
        >>> from transformers import CLIPConfig
        >>> feature_size(CLIPConfig())
        1024
    """
    text, vision = config.text_config, config.vision_config
    shared = getattr(config, "projection_dim", None)
    if shared is not None:
        return 2 * shared
    return getattr(text, "projection_size", text.hidden_size) + vision.hidden_size
