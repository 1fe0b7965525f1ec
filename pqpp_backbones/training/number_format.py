"""Mixed precision."""

from typing import Any

FORMATS = ("no", "bf16")


def use_number_format(mixed_precision: str) -> Any:
    """Return a context for one call of a model; with bf16, matrix products are in 16 bits.

    Weights, gradients and the optimizer's state stay in 32 bits. Use a new context for each call,
    because a context caches the weights.

    >>> import torch
    >>> with use_number_format("bf16"):
    ...     (torch.eye(2) @ torch.eye(2)).dtype
    torch.bfloat16
    """
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=mixed_precision == "bf16")
