"""From batches of tokens to what an encoder makes of them: scores, points, mean states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pqpp_models.encoder.tokens import encode, length_sorted, padded

STATES_LENGTH = 96
"""Tokens after which a prompt is cut for its mean states."""


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> dict[str, torch.Tensor]:
    """Return a batch as tensors, padded on the right to its longest row.

    >>> pad([[5, 6], [7]], pad_id=0)["attention_mask"].tolist()
    [[1, 1], [1, 0]]
    """
    ids, mask = padded(rows, pad_id)
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}


@torch.inference_mode()
def score(
    model: torch.nn.Module,
    encoded: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int,
    device: torch.device,
    n_targets: int,
) -> NDArray[np.float64]:
    """Return the scores, 0 .. 1, that a model gives encoded prompts, in their own order.

    Args:
        model: takes `input_ids` and `attention_mask`, gives `scores`.
        encoded: from `pqpp_models.encoder.tokens.encode`.
        pad_id: the tokenizer's padding.
        batch_size: prompts a batch at most.
        device: where the model is.
        n_targets: columns of the result.
    """
    scores = np.empty((len(encoded), n_targets))
    for batch, inputs in _batches(encoded, pad_id, batch_size, device):
        scores[batch] = model(**inputs).scores.float().cpu().numpy()
    return scores


@torch.inference_mode()
def embed(
    model: torch.nn.Module,
    encoded: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int,
    device: torch.device,
) -> NDArray[np.float32]:
    """Return what the head gets of encoded prompts, in their own order; arguments as in `score`."""
    points = np.empty((len(encoded), model.config.backbone_config.hidden_size), np.float32)
    for batch, inputs in _batches(encoded, pad_id, batch_size, device):
        points[batch] = model.embed(**inputs).float().cpu().numpy()
    return points


@torch.inference_mode()
def layer_means(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    layers: Sequence[int],
    batch_size: int = 128,
    progress: bool = False,
) -> dict[int, NDArray[np.float32]]:
    """Return, for some layers of an encoder of `AutoModel`, the mean of each prompt's token states.

    Layer 0 is what the first one gets. An array has the shape ``(prompts, hidden size)``.
    """
    rows = encode(tokenizer, prompts, STATES_LENGTH)
    means = {layer: np.empty((len(rows), model.config.hidden_size), np.float32) for layer in layers}
    pad_id = tokenizer.pad_token_id or 0
    for batch, inputs in _batches(rows, pad_id, batch_size, model.device, progress):
        states = model(**inputs, output_hidden_states=True).hidden_states
        mask = inputs["attention_mask"].unsqueeze(-1).to(states[0].dtype)
        for layer in layers:
            mean = (states[layer] * mask).sum(dim=1) / mask.sum(dim=1)
            means[layer][batch] = mean.float().cpu().numpy()
    return means


def _batches(
    encoded: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int,
    device: torch.device,
    progress: bool = False,
) -> Iterator[tuple[NDArray[np.int64], dict[str, torch.Tensor]]]:
    batches = length_sorted([len(row) for row in encoded], batch_size)
    if progress:
        from tqdm.auto import tqdm

        batches = tqdm(batches, desc="encoding", unit=f" x {batch_size} prompts")
    for batch in batches:
        inputs = pad([encoded[i] for i in batch], pad_id)
        yield batch, {name: tensor.to(device) for name, tensor in inputs.items()}
