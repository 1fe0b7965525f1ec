"""Linear layers through oneDNN while predicting on a CPU.

PyTorch sends float32 products to MKL, which is slow on processors that are not Intel's: on an AMD
EPYC oneDNN's product takes less than half the time. The operator is the one that `torch.compile`
puts in; it has no gradient, and where it is missing the plain one is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def fast_linear(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Let the linear layers of a model use oneDNN inside this context.

    Args:
        model: the model; it must not learn meanwhile.
        device: where it is; nothing changes but on a CPU.

    Example:
        >>> layer, x = nn.Linear(3, 2), torch.ones(1, 3)
        >>> with torch.inference_mode(), fast_linear(layer, torch.device("cpu")):
        ...     fast = layer(x)
        >>> torch.allclose(fast, layer(x), atol=1e-6)
        True
    """
    layers = [] if device.type != "cpu" or not _works() else list(_plain_layers(model))
    for layer in layers:
        layer.forward = _Product(layer)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


class _Product:
    def __init__(self, layer: nn.Linear) -> None:
        self.layer = layer

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        layer = self.layer
        if inputs.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
            return nn.functional.linear(inputs, layer.weight, layer.bias)
        return torch.ops.mkldnn._linear_pointwise(inputs, layer.weight, layer.bias, "none", [], "")


def _plain_layers(model: nn.Module) -> Iterator[nn.Linear]:
    for layer in model.modules():
        # A subclass, or a layer that somebody else has wrapped, keeps its own forward.
        is_plain = type(layer) is nn.Linear and "forward" not in vars(layer)
        if is_plain and layer.weight.dtype == torch.float32:
            yield layer


def _works() -> bool:
    if not torch.backends.mkldnn.is_available():
        return False
    try:
        with torch.inference_mode():
            torch.ops.mkldnn._linear_pointwise(
                torch.ones(1, 2), torch.ones(2, 2), None, "none", [], ""
            )
    except (AttributeError, RuntimeError, TypeError):
        return False
    return True
