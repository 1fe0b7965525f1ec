"""The correlation-based CNN of the PQPP paper (sections 5.2 and 11).

Four blocks of convolution (3 x 3, stride 1, padding 1), ReLU and max-pooling (2 x 2, stride 2) with
64, 128, 256 and 512 filters, a fully connected layer of 1,024 with ReLU, one output per target,
mean squared error on performance scaled to 0 .. 1. The paper does not state the sizes of kernel and
pooling; these are the usual ones. Pooling rounds up and the last map is pooled to a fixed size, so
that a matrix may have any size; the paper's 4 x 4 is too small for four plain poolings.
"""

import itertools
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers import initialization as init

from pqpp_backbones.pretrained import StrictLoading
from pqpp_models.neural import PerformanceOutput, PredictorConfig, masked_mean_squared_error
from pqpp_models.registration import add_classes as _add_classes


class CorrelationCnnConfig(PredictorConfig):
    """The configuration of a `CorrelationCnnForPerformancePrediction`.

    Args:
        targets, limits: See `PredictorConfig`.
        channels: Matrices per row: one per retrieval model, or one for generation.
        matrix_size: Results per matrix: 25 for retrieval, 4 for generation in the paper. Larger
            matrices are cropped, smaller ones padded with zeros.
        filters: Filters of the convolutional blocks.
        hidden_size: Units of the fully connected layer.
        pooled_size: Height and width to which the last feature map is pooled.

    Example:
        >>> CorrelationCnnConfig(targets=["mean_rr"], channels=2).matrix_size
        25
    """

    model_type = "correlation_cnn"

    channels: int = 1
    matrix_size: int = 25
    filters: list[int] | tuple[int, ...] = (64, 128, 256, 512)
    hidden_size: int = 1024
    pooled_size: int = 2
    predictor_type: str = "correlation_cnn"

    def __post_init__(self, **kwargs: Any) -> None:
        self.targets = list(self.targets or ["mean_p10"])
        super().__post_init__(**kwargs)


_add_classes(CorrelationCnnConfig)


class CorrelationCnnForPerformancePrediction(StrictLoading, PreTrainedModel):
    """The correlation CNN of PQPP, on matrices of similarities between the results of a prompt.

    Example:
        >>> model = CorrelationCnnForPerformancePrediction(CorrelationCnnConfig(channels=2))
        >>> model(torch.zeros(3, 2, 7, 7)).scores.shape
        torch.Size([3, 1])
    """

    config_class = CorrelationCnnConfig
    accepts_loss_kwargs = False  # the loss is a mean, which accumulation divides
    base_model_prefix = "cnn"
    main_input_name = "similarities"

    def __init__(self, config: CorrelationCnnConfig) -> None:
        super().__init__(config)
        sizes = [config.channels, *config.filters]
        blocks: list[nn.Module] = []
        for n_inputs, n_outputs in itertools.pairwise(sizes):
            blocks += [
                nn.Conv2d(n_inputs, n_outputs, kernel_size=3, stride=1, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(kernel_size=2, stride=2, ceil_mode=True),
            ]
        self.blocks = nn.Sequential(*blocks, nn.AdaptiveMaxPool2d(config.pooled_size))
        self.hidden = nn.Linear(sizes[-1] * config.pooled_size**2, config.hidden_size)
        assert config.targets is not None
        self.output = nn.Linear(config.hidden_size, len(config.targets))
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        # With transformers' small normal weights, the signal would vanish over four ReLU layers.
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            init.kaiming_normal_(module.weight, nonlinearity="relu")
            init.zeros_(module.bias)
        if hasattr(self, "output") and module is self.output:
            init.normal_(module.weight, std=0.01)

    def forward(
        self, similarities: torch.Tensor, labels: torch.Tensor | None = None, **_: Any
    ) -> PerformanceOutput:
        """Predict the performance of prompts, scaled to 0 .. 1.

        Args:
            similarities: `(batch, channels, n, n)`, cosine similarities of the images.
            labels: `(batch, targets)`, scaled to 0 .. 1, NaN if missing.
        """
        maps = self.blocks(similarities.to(self.dtype))
        logits = self.output(torch.relu(self.hidden(maps.flatten(1))))
        loss = None if labels is None else masked_mean_squared_error(logits, labels)
        return PerformanceOutput(loss=loss, scores=logits, logits=logits)
