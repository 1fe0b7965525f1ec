"""The number format of a training: 32 bits, or 16 if that loses nothing."""

from typing import Any

FORMATS = ("no", "bf16")


def use_number_format(mixed_precision: str) -> Any:
    """Return a context for calling a model; with bf16, matrix products have 16 bits.

    Weights, gradients and the optimizer's state have 32 bits. Use a new context for each call: it
    rounds the weights once and ignores later changes. bf16 is slower on processors without it.

    >>> import torch
    >>> with use_number_format("bf16"):
    ...     (torch.eye(2) @ torch.eye(2)).dtype
    torch.bfloat16
    """
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=mixed_precision == "bf16")
