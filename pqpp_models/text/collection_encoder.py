"""Mean states of the layers of a pretrained text encoder, for many prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pqpp_models.text.collection import Floats
from pqpp_models.text.encoder.encoding import pad
from pqpp_models.text.encoder.tokens import encode, length_sorted


@torch.inference_mode()
def layer_means(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    layers: Sequence[int],
    max_length: int = 96,
    batch_size: int = 128,
    progress: bool = False,
) -> dict[int, Floats]:
    """Return the means of some layers' token states.

    Args:
        model: an encoder of `AutoModel`, in evaluation mode.
        tokenizer: its tokenizer.
        prompts: the texts.
        layers: numbers of layers; 0 is what the first one gets.
        max_length: tokens after which a prompt is cut.
        batch_size: prompts a batch.
        progress: show a progress bar.
    """
    rows = encode(tokenizer, prompts, max_length)
    size = model.config.hidden_size
    means = {layer: np.empty((len(rows), size), dtype=np.float32) for layer in layers}
    batches = length_sorted([len(row) for row in rows], batch_size)
    if progress:
        from tqdm.auto import tqdm

        batches = tqdm(batches, desc="encoding", unit=f" x {batch_size} prompts")
    for batch in batches:
        inputs = pad([rows[i] for i in batch], tokenizer.pad_token_id or 0)
        inputs = {name: tensor.to(model.device) for name, tensor in inputs.items()}
        states = model(**inputs, output_hidden_states=True).hidden_states
        mask = inputs["attention_mask"].unsqueeze(-1).to(states[0].dtype)
        for layer in layers:
            mean = (states[layer] * mask).sum(dim=1) / mask.sum(dim=1)
            means[layer][batch] = mean.float().cpu().numpy()
    return means
