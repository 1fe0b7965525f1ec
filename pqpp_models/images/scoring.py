"""Scores of (prompt, image) pairs, and the cache on disk of a frozen backbone's features."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pqpp_backbones.images.embedding import embed_images, embed_prompts, in_batches
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.write_beside import write_whole
from pqpp_models.images.pairs import Pairs


def score_embedded(
    model: Any, text: NDArray[np.float32], images: NDArray[np.float32], batch_size: int
) -> NDArray[np.float64]:
    """Return the score of each pair of a text's and an image's features."""

    def scored(pairs: NDArray[np.int64]) -> torch.Tensor:
        features = {"text_embeds": text[pairs], "image_embeds": images[pairs]}
        placed = {name: torch.from_numpy(rows).to(model.device) for name, rows in features.items()}
        return model(**placed).scores[:, 0]

    return in_batches(np.arange(len(text)), scored, batch_size).astype(np.float64)


def score_pairs(model: Any, processor: Any, pairs: Pairs, batch_size: int) -> NDArray[np.float64]:
    """Return the score of each pair; a prompt is embedded once for all of its images."""
    text = embed_prompts(model.backbone, processor, pairs.prompts, batch_size)
    images = embed_images(model.backbone, processor, pairs.images, batch_size)
    return score_embedded(model, text[pairs.row], images, batch_size)


def cached_embeddings(
    folder: Path, backbone: Any, processor: Any, pairs: Pairs, batch_size: int
) -> dict[str, NDArray[np.float32]]:
    """Return text and image features, from the cache if this backbone has seen these inputs.

    Returns:
        `text` of shape `(rows, size)` and `images` of shape `(pairs, size)`.
    """
    from safetensors.numpy import save

    path = folder / f"{_key(backbone, processor, pairs)}.safetensors"
    if path.is_file():
        return load_tensors(path)
    embeddings = {
        "text": embed_prompts(backbone, processor, pairs.prompts, batch_size),
        "images": embed_images(backbone, processor, pairs.images, batch_size),
    }
    write_whole(path, save(embeddings))
    return embeddings


def _key(backbone: Any, processor: Any, pairs: Pairs) -> str:
    weights = sorted(backbone.state_dict().items())
    return sha256_of_parts(
        itertools.chain(
            itertools.chain.from_iterable(
                (name, tensor.detach().float().cpu().numpy().tobytes()) for name, tensor in weights
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
