"""Text and image features in batches, and their cache on disk for a frozen backbone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pqpp_files.hashes import sha256_of_parts
from pqpp_files.write_beside import write_whole
from pqpp_models.images.backbone import embed_pixels, embed_tokens
from pqpp_models.images.pairs import Pairs, open_image
from pqpp_models.pretrained import check_ids


def tokens_of(processor: Any, prompts: Sequence[str], config: Any) -> dict[str, torch.Tensor]:
    """Return the tokens of prompts as a CLIP-like model was trained to get them.

    SigLIP was trained on prompts padded to the full length, so they are padded so here.
    """
    full = "siglip" in config.model_type
    encoded = processor.tokenizer(
        list(prompts),
        padding="max_length" if full else True,
        truncation=True,
        max_length=config.text_config.max_position_embeddings,
        return_tensors="pt",
    )
    names = ("input_ids",) if full else ("input_ids", "attention_mask")
    return {name: encoded[name] for name in names}


def pixels_of(processor: Any, images: Sequence[Any]) -> torch.Tensor:
    """Return images, whatever `open_image` takes, prepared for the model."""
    opened = [open_image(image) for image in images]
    return processor.image_processor(opened, return_tensors="pt")["pixel_values"]


def try_embedding(backbone: Any, processor: Any) -> None:
    """Embed a prompt and an image, so that what cannot be done fails when it is loaded."""
    embed_prompts(backbone, processor, ["a cat"], 1)
    embed_images(backbone, processor, [np.zeros((8, 8, 3), np.uint8)], 1)


@torch.inference_mode()
def embed_prompts(
    backbone: Any, processor: Any, prompts: Sequence[str], batch_size: int
) -> NDArray[np.float32]:
    """Return the text features of prompts."""
    parts = []
    for start in range(0, len(prompts), batch_size):
        tokens = tokens_of(processor, prompts[start : start + batch_size], backbone.config)
        check_ids(tokens["input_ids"], getattr(backbone, "text_model", backbone))
        moved = {name: tensor.to(backbone.device) for name, tensor in tokens.items()}
        parts.append(embed_tokens(backbone, **moved).float().cpu().numpy())
    return np.concatenate(parts)


@torch.inference_mode()
def embed_images(
    backbone: Any, processor: Any, images: Sequence[Any], batch_size: int
) -> NDArray[np.float32]:
    """Return the image features of images."""
    parts = []
    for start in range(0, len(images), batch_size):
        pixels = pixels_of(processor, images[start : start + batch_size]).to(backbone.device)
        parts.append(embed_pixels(backbone, pixels).float().cpu().numpy())
    return np.concatenate(parts)


@torch.inference_mode()
def score_embedded(
    model: Any, text: NDArray[np.float32], images: NDArray[np.float32], batch_size: int
) -> NDArray[np.float64]:
    """Return the score of each pair of a text's and an image's features."""
    scores = np.empty(len(text))
    for start in range(0, len(text), batch_size):
        stop = start + batch_size
        output = model(
            text_embeds=torch.from_numpy(text[start:stop]).to(model.device),
            image_embeds=torch.from_numpy(images[start:stop]).to(model.device),
        )
        scores[start:stop] = output.scores[:, 0].float().cpu().numpy()
    return scores


def score_pairs(model: Any, processor: Any, pairs: Pairs, batch_size: int) -> NDArray[np.float64]:
    """Return the score of each pair; a prompt is embedded once for all of its images."""
    text = embed_prompts(model.backbone, processor, pairs.prompts, batch_size)
    images = embed_images(model.backbone, processor, pairs.images, batch_size)
    return score_embedded(model, text[pairs.row], images, batch_size)


@torch.inference_mode()
def score_pairs_whole(
    model: Any, processor: Any, pairs: Pairs, batch_size: int
) -> NDArray[np.float64]:
    """Return the score of each pair by `forward` alone, as a sharded model needs it."""
    scores = np.empty(len(pairs.row))
    for start in range(0, len(scores), batch_size):
        part = slice(start, start + batch_size)
        prompts = [pairs.prompts[row] for row in pairs.row[part]]
        inputs = tokens_of(processor, prompts, model.config.backbone_config)
        inputs["pixel_values"] = pixels_of(processor, pairs.images[part])
        moved = {name: tensor.to(model.device) for name, tensor in inputs.items()}
        scores[part] = model(**moved).scores[:, 0].float().cpu().numpy()
    return scores


def cached_embeddings(
    folder: Path, backbone: Any, processor: Any, pairs: Pairs, batch_size: int
) -> dict[str, NDArray[np.float32]]:
    """Return text and image features, from the cache if this backbone has seen these inputs.

    Returns:
        `text` of shape `(rows, size)` and `images` of shape `(pairs, size)`.
    """
    from safetensors.numpy import load_file, save

    path = folder / f"{_key(backbone, processor, pairs)}.safetensors"
    if path.is_file():
        return load_file(path)
    found = {
        "text": embed_prompts(backbone, processor, pairs.prompts, batch_size),
        "images": embed_images(backbone, processor, pairs.images, batch_size),
    }
    write_whole(path, save(found))
    return found


def _key(backbone: Any, processor: Any, pairs: Pairs) -> str:
    weights = sorted(backbone.state_dict().items())
    return sha256_of_parts(
        itertools.chain(
            itertools.chain.from_iterable(
                (name, one.detach().float().cpu().numpy().tobytes()) for name, one in weights
            ),
            [processor.image_processor.to_json_string()],
            (f"{prompt}\0" for prompt in pairs.prompts),
            map(_identity, pairs.images),
        )
    )


def _identity(image: Any) -> str:
    """Return what tells one image from another without decoding a file."""
    if isinstance(image, Mapping):
        image = image["bytes"] if image.get("bytes") is not None else image["path"]
    if isinstance(image, bytes):
        return sha256_of_parts([image])
    if isinstance(image, (str, Path)):
        known = Path(image).stat()
        return f"{image}|{known.st_size}|{known.st_mtime_ns}"
    array = np.asarray(image)
    return f"{array.shape}{sha256_of_parts([array.tobytes()])}"
