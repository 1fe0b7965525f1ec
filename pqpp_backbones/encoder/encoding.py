"""Run a text encoder on tokenized prompts, in batches."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence
from tqdm.auto import tqdm

from pqpp_backbones.encoder.pretrained import get_max_length
from pqpp_backbones.encoder.tokens import batch_by_length, encode
from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import check_token_ids
from pqpp_files.errors import reraise

STATES_LENGTH = 96
"""The number of tokens to which a prompt is truncated for its mean states."""


def to_batch(rows: Sequence[Sequence[int]], pad_id: int) -> dict[str, torch.Tensor]:
    """Convert token ids to tensors, padded on the right to the longest row.

    A row without tokens becomes a row of padding.

    >>> batch = to_batch([[5, 6], [7]], pad_id=0)
    >>> batch["input_ids"].tolist(), batch["attention_mask"].tolist()
    ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
    """
    ids = [torch.tensor(row or [pad_id]) for row in rows]
    masks = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
    padded = pad_sequence(ids, batch_first=True, padding_value=pad_id)
    return {"input_ids": padded, "attention_mask": masks}


def score_encoded(
    model: torch.nn.Module, encoded: Sequence[Sequence[int]], pad_id: int, batch_size: int
) -> NDArray[np.float64]:
    """Return the scores of encoded prompts, shape ``(prompts, targets)``.

    Args:
        model: a model whose output has `scores`.
        encoded: the token ids of each prompt.
        pad_id: the id of the padding token.
    """

    def score(**inputs: torch.Tensor) -> torch.Tensor:
        return model(**inputs).scores

    shape = (len(model.config.targets),)
    return _run_batches(model, score, shape, encoded, pad_id, batch_size).astype(np.float64)


def embed(
    model: torch.nn.Module, encoded: Sequence[Sequence[int]], pad_id: int, batch_size: int
) -> NDArray[np.float32]:
    """Return the pooled states of encoded prompts; the arguments are those of `score_encoded`."""
    size = model.config.backbone_config.hidden_size
    return _run_batches(model, model.embed, (size,), encoded, pad_id, batch_size)


def get_layer_means(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    layers: Sequence[int],
    progress: bool = False,
) -> dict[int, NDArray[np.float32]]:
    """Return, for each layer, the mean of each prompt's token states.

    Layer 0 is the input of the first layer. The arrays have the shape ``(prompts, hidden size)``.

    Raises:
        ModelError: the model fails, or a mean is not finite.
    """

    def compute_means(**inputs: torch.Tensor) -> torch.Tensor:
        states = model(**inputs, output_hidden_states=True).hidden_states
        mask = inputs["attention_mask"].unsqueeze(-1).to(states[0].dtype)
        return torch.stack([(states[layer] * mask).sum(1) / mask.sum(1) for layer in layers], dim=1)

    limit = get_max_length(model)
    rows = encode(tokenizer, prompts, STATES_LENGTH if limit is None else min(STATES_LENGTH, limit))
    shape = (len(layers), model.config.hidden_size)
    pad_id = tokenizer.pad_token_id or 0
    means = _run_batches(model, compute_means, shape, rows, pad_id, 128, progress)
    if not np.isfinite(means).all():
        raise ModelError("the encoder returns NaN or infinity; use another encoder")
    return {layer: means[:, index] for index, layer in enumerate(layers)}


@reraise("the encoder failed", "use another encoder", ModelError)
@torch.inference_mode()
def _run_batches(
    model: Any,
    compute: Callable[..., torch.Tensor],
    shape: tuple[int, ...],
    encoded: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int,
    progress: bool = False,
) -> NDArray[np.float32]:
    outputs = np.empty((len(encoded), *shape), np.float32)
    device = next(model.parameters()).device
    batches = batch_by_length([len(row) for row in encoded], batch_size)
    for batch in tqdm(batches, "encoding", unit=f" x {batch_size} prompts", disable=not progress):
        inputs = to_batch([encoded[i] for i in batch], pad_id)
        check_token_ids(inputs["input_ids"], model)
        inputs = {name: tensor.to(device) for name, tensor in inputs.items()}
        outputs[batch] = compute(**inputs).float().cpu().numpy()
    return outputs
