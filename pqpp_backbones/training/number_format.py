"""The number format of a training: 32 bits, or 16 if that loses nothing."""

from typing import Any

FORMATS = ("no", "bf16")


def use_number_format(mixed_precision: str) -> Any:
    """Return the context in which a model is called: bf16 has products of matrices in 16 bits.

    Weights, their gradients and the optimizer stay in 32 bits. The context is for one call, since
    within it weights are rounded once: changed ones would not be seen. Processors without the
    format need longer with it.

    >>> import torch
    >>> with use_number_format("bf16"):
    ...     (torch.eye(2) @ torch.eye(2)).dtype
    torch.bfloat16
    """
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=mixed_precision == "bf16")
