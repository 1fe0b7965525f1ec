"""The heads of RAHF: a feature map in, a heatmap or a score out (RichHF paper, section 9)."""

import itertools
from collections.abc import Iterable

import torch
from torch import nn

from pqpp_feedback.rahf.configuration_rahf import RahfConfig


class ChannelLayerNorm(nn.LayerNorm):
    """Layer norm over the channels at each pixel."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Normalise a map of shape `(batch, channels, height, width)`."""
        return super().forward(features.movedim(1, -1)).movedim(-1, 1)


class ChannelScaleNorm(nn.Module):
    """Division by the root mean square over the channels at each pixel, then a scale a channel.

    It is the norm of the released weights: no mean is taken off, nothing is added.
    """

    def __init__(self, channels: int, eps: float = 1e-8) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.eps = eps

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Normalise a map of shape `(batch, channels, height, width)`."""
        square = features.float().square().mean(dim=1, keepdim=True)
        scale = torch.rsqrt(square + self.eps).to(features.dtype)
        return features * scale * self.weight[:, None, None]


class ReadOut(nn.Module):
    """Two convolutions behind a de-convolution; in the released style they are residual."""

    def __init__(self, channels: int, released: bool) -> None:
        super().__init__()
        self.first, self.second = _conv(channels, channels), _conv(channels, channels)
        self.norms = nn.ModuleList(_norm(channels, released) for _ in range(2))
        self.released = released

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return a map of the same shape."""
        values = torch.relu(self.norms[0](self.first(features)))
        values = self.norms[1](self.second(values))
        return torch.relu(values + features if self.released else values)


class HeatmapHead(nn.Module):
    """Two convolutions, de-convolutions with read-out convolutions, a sigmoid."""

    def __init__(self, config: RahfConfig) -> None:
        super().__init__()
        released = config.head_style == "released"
        convs = [config.text_config.d_model, *config.heatmap_conv_sizes]
        deconvs = [convs[-1], *config.heatmap_deconv_sizes]
        last = deconvs[-1]
        self.convs = nn.ModuleList(_conv(*sizes) for sizes in itertools.pairwise(convs))
        self.conv_norms = nn.ModuleList(_norm(size, released) for size in convs[1:])
        doubling = {"stride": 2, "padding": 1, "output_padding": 1}
        self.deconvs = nn.ModuleList(
            nn.ConvTranspose2d(*sizes, 3, **doubling) for sizes in itertools.pairwise(deconvs)
        )
        self.deconv_norms = nn.ModuleList(_norm(size, released) for size in deconvs[1:])
        self.readouts = nn.ModuleList(ReadOut(size, released) for size in deconvs[1:])
        self.last_conv = _conv(last, last)
        self.last_norm = nn.Identity() if released else _norm(last, released)
        self.output = _conv(last, 1)
        self.released = released

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return heatmaps of shape `(batch, height, width)` in 0 .. 1, always in float32."""
        for conv, norm in zip(self.convs, self.conv_norms, strict=True):
            # The released weights normalise behind the ReLU here, and before it elsewhere.
            features = conv(features)
            features = norm(torch.relu(features)) if self.released else torch.relu(norm(features))
        stages = zip(self.deconvs, self.deconv_norms, self.readouts, strict=True)
        for deconv, norm, readout in stages:
            features = readout(torch.relu(norm(deconv(features))))
        features = torch.relu(self.last_norm(self.last_conv(features)))
        return torch.sigmoid(self.output(features).float()).squeeze(1)


class ScoreHead(nn.Module):
    """Convolutions and dense layers, a sigmoid."""

    def __init__(self, config: RahfConfig) -> None:
        super().__init__()
        released = config.head_style == "released"
        sizes = [config.text_config.d_model, *config.score_conv_sizes]
        kernel = {"kernel_size": config.score_conv_kernel, "padding": config.score_conv_padding}
        self.convs = nn.ModuleList(nn.Conv2d(*pair, **kernel) for pair in itertools.pairwise(sizes))
        self.norms = nn.ModuleList(_norm(size, released) for size in sizes[1:])
        dense = [sizes[-1] * config.score_map_size**2, *config.score_dense_sizes, 1]
        self.dense = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(dense))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return scores of shape `(batch,)` in 0 .. 1, always in float32."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            features = torch.relu(norm(conv(features)))
        hidden = features.flatten(1)
        for layer in self.dense[:-1]:
            hidden = torch.relu(layer(hidden))
        return torch.sigmoid(self.dense[-1](hidden).float()).squeeze(1)


def layer_rows(model: nn.Module) -> list[tuple[str, str, int]]:
    """Return the parts of a RAHF model, each with its layers and the number of its weights.

    Heads of one kind have the same layers, and one row. Of convolutions and dense layers the shapes
    are told, of the towers only how many weights they have.

    Args:
        model: A `RahfForRichFeedback`.
    """
    parts: list[tuple[str, nn.Module, Iterable[nn.Module]]] = [
        ("image tower", model.vision_model, ()),
        ("text model", model.text_model, ()),
        ("projection", model.projection, model.projection.modules()),
    ]
    for kind, heads in (("heatmap", model.heatmap_heads), ("score", model.score_heads)):
        first = next(iter(heads.values()))
        parts.append((f"{kind} head, {len(heads)} of them", first, first.modules()))
    rows = []
    for name, part, modules in parts:
        sized = [layer for layer in modules if isinstance(layer, _SIZED)]
        texts = [f"{type(layer).__name__} {tuple(layer.weight.shape)}" for layer in sized]
        weights = sum(tensor.numel() for tensor in part.parameters())
        rows.append((name, ", ".join(texts) or type(part).__name__, weights))
    return rows


_SIZED = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)


def _conv(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def _norm(channels: int, released: bool) -> nn.Module:
    return ChannelScaleNorm(channels) if released else ChannelLayerNorm(channels)
