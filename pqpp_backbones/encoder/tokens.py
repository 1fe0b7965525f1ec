"""Tokenization of prompts, and batches of similar length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_LENGTH = 128
"""The default number of tokens to which a prompt is truncated."""

# Limits batches of long prompts, so that their tokens fit in a CPU's cache and a GPU's memory.
TOKENS_A_BATCH = 8192


def encode(tokenizer: Any, prompts: Sequence[str], max_length: int) -> list[list[int]]:
    """Return the token ids of each prompt, truncated to `max_length`."""
    if not prompts:
        return []
    encoded = tokenizer(
        list(prompts),
        truncation=True,
        max_length=max_length,
        return_attention_mask=False,
        return_token_type_ids=False,
    )
    return encoded["input_ids"]


def batch_by_length(lengths: Sequence[int], batch_size: int) -> list[NDArray[np.int64]]:
    """Return batches of row indices, the longest rows first.

    A batch has at most `batch_size` rows and, if it has several, 8192 tokens after padding.

    Example:
        >>> [batch.tolist() for batch in batch_by_length([1, 9, 2], 2)]
        [[1, 2], [0]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, min(batch_size, TOKENS_A_BATCH // max(1, lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
