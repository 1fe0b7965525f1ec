"""From batches of tokens to scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pqpp_models.text.encoder.fast_linear import fast_linear
from pqpp_models.text.encoder.tokens import length_sorted, padded


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> dict[str, torch.Tensor]:
    """Return a batch as tensors, padded on the right to its longest row.

    Example:
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
    """Return the scores, 0 .. 1, of encoded prompts in their own order.

    Args:
        model: takes `input_ids` and `attention_mask`, gives `scores`.
        encoded: from `pqpp_models.text.encoder.tokens.encode`.
        pad_id: the tokenizer's padding.
        batch_size: prompts a batch at most.
        device: where the model is.
        n_targets: columns of the result.
    """
    scores = np.empty((len(encoded), n_targets))
    with fast_linear(model, device):
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
    with fast_linear(model, device):
        for batch, inputs in _batches(encoded, pad_id, batch_size, device):
            points[batch] = model.embed(**inputs).float().cpu().numpy()
    return points


def _batches(
    encoded: Sequence[Sequence[int]], pad_id: int, batch_size: int, device: torch.device
) -> Iterator[tuple[Any, dict[str, torch.Tensor]]]:
    for batch in length_sorted([len(row) for row in encoded], batch_size):
        inputs = pad([encoded[i] for i in batch], pad_id)
        yield batch, {name: tensor.to(device) for name, tensor in inputs.items()}
