"""The number format of a training: 32 bits, or 16 where that loses nothing."""

from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.options.option import shown

FORMATS = ("no", "bf16")


def check_number_format(mixed_precision: str) -> None:
    """Check that a format is one of `FORMATS`.

    Raises:
        PqppError: it is another.

    >>> check_number_format("bf16")
    """
    if mixed_precision not in FORMATS:
        raise PqppError(
            f"`mixed_precision` is {shown(mixed_precision)}; it must be one of {', '.join(FORMATS)}"
        )


def number_format(mixed_precision: str) -> Any:
    """Return the context in which a model is called: bf16 has products of matrices in 16 bits.

    Weights, their gradients and the optimizer stay in 32 bits. The context is for one call, since
    within it weights are rounded once: changed ones would not be seen. Processors without the
    format take longer with it.

    >>> import torch
    >>> with number_format("bf16"):
    ...     (torch.eye(2) @ torch.eye(2)).dtype
    torch.bfloat16
    """
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=mixed_precision == "bf16")
