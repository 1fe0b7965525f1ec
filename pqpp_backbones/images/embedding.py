"""Text and image features of pretrained models like CLIP and SigLIP."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, PreTrainedModel

from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import check_token_ids, safe_load
from pqpp_files.foreign.images import open_image

_FEATURE_METHODS = ("get_text_features", "get_image_features")


def load_backbone(name_or_path: str) -> PreTrainedModel:
    """Load a pretrained CLIP-like model.

    Raises:
        ModelError: The model does not exist, or does not embed texts and images.
    """
    remedy = "use a model such as openai/clip-vit-base-patch32"
    what = f"{name_or_path} is not a CLIP-like model that transformers can load"
    with safe_load(what, remedy, name_or_path):
        backbone = AutoModel.from_pretrained(
            name_or_path, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        )
    if not all(hasattr(backbone, name) for name in _FEATURE_METHODS):
        raise ModelError(
            f"{name_or_path} is a model of type {backbone.config.model_type!r}, which does not "
            f"embed both texts and images; {remedy}"
        )
    return backbone


def get_feature_size(config: Any) -> int:
    """Return the number of text features plus that of image features.

    Example:
        >>> from transformers import CLIPConfig
        >>> get_feature_size(CLIPConfig())
        1024
    """
    text, vision = config.text_config, config.vision_config
    shared = getattr(config, "projection_dim", None)
    if shared is not None:
        return 2 * shared
    return getattr(text, "projection_size", text.hidden_size) + vision.hidden_size


def tokenize(processor: Any, prompts: Sequence[str], config: Any) -> dict[str, torch.Tensor]:
    """Tokenize prompts for a CLIP-like model.

    Prompts for SigLIP are padded to the full length, as in its training.
    """
    is_siglip = "siglip" in config.model_type
    encoded = processor.tokenizer(
        list(prompts),
        padding="max_length" if is_siglip else True,
        truncation=True,
        max_length=config.text_config.max_position_embeddings,
        return_tensors="pt",
    )
    names = ("input_ids",) if is_siglip else ("input_ids", "attention_mask")
    return {name: encoded[name] for name in names}


def to_pixels(processor: Any, images: Sequence[Any]) -> torch.Tensor:
    """Convert images, as `open_image` accepts them, to pixel values."""
    opened = [open_image(image) for image in images]
    return processor.image_processor(opened, return_tensors="pt")["pixel_values"]


def get_tokens(backbone: Any, processor: Any, prompts: Sequence[str]) -> dict[str, torch.Tensor]:
    """Tokenize prompts, check the token ids, and move the tensors to the model's device."""
    tokens = tokenize(processor, prompts, backbone.config)
    check_token_ids(tokens["input_ids"], getattr(backbone, "text_model", backbone))
    return {name: tensor.to(backbone.device) for name, tensor in tokens.items()}


def embed_prompts(
    backbone: Any, processor: Any, prompts: Sequence[str], batch_size: int
) -> NDArray[np.float32]:
    """Return the text features of prompts, shape ``(prompts, size)``."""

    def embed_batch(batch: Sequence[str]) -> torch.Tensor:
        return backbone.get_text_features(**get_tokens(backbone, processor, batch)).pooler_output

    return run_batches(prompts, embed_batch, batch_size)


def embed_images(
    backbone: Any, processor: Any, images: Sequence[Any], batch_size: int
) -> NDArray[np.float32]:
    """Return the features of images, shape ``(images, size)``."""
    # SigLIP 2 NaFlex also needs the mask and the layout of the patches.
    names = ("pixel_values", "pixel_attention_mask", "spatial_shapes")

    def embed_batch(batch: Sequence[Any]) -> torch.Tensor:
        prepared = processor.image_processor(list(map(open_image, batch)), return_tensors="pt")
        inputs = {name: prepared[name].to(backbone.device) for name in names if name in prepared}
        inputs["pixel_values"] = inputs["pixel_values"].to(backbone.dtype)
        return backbone.get_image_features(**inputs).pooler_output

    return run_batches(images, embed_batch, batch_size)


@torch.inference_mode()
def run_batches(
    items: Sequence[Any] | NDArray[Any], compute: Callable[[Any], torch.Tensor], batch_size: int
) -> NDArray[np.float32]:
    """Apply a model to items in batches, and return one row per item.

    Example:
        >>> run_batches([1.0, 2.0, 3.0], torch.tensor, batch_size=2).tolist()
        [1.0, 2.0, 3.0]
    """
    starts = range(0, len(items), batch_size)
    parts = (compute(items[start : start + batch_size]) for start in starts)
    return np.concatenate([part.float().cpu().numpy() for part in parts])
