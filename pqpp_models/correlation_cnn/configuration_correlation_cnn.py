"""Configuration of the convolutional network on matrices of similarities."""

from typing import Any

from transformers import PreTrainedConfig

from pqpp_backbones.checkpoint import OF_FILES
from pqpp_models.registration import announce


class CorrelationCnnConfig(PreTrainedConfig):
    """What is needed to build a `CorrelationCnnForPerformancePrediction`.

    Args:
        targets: What the outputs are, in order: names of targets.
        limits: Lowest and highest value of each target whose measure has none, like a rating.
        channels: Matrices a row: one a retrieval model, one for generation.
        matrix_size: Results a matrix: 25 for retrieval, 4 for generation in the paper. A row with
            more results is cut to the first, one with fewer is filled with zeros.
        filters: Filters of the convolutional blocks.
        hidden_size: Units of the fully connected layer.
        pooled_size: The last feature map is pooled to this height and width, whatever the size
            of the matrix.

    Example:
        >>> CorrelationCnnConfig(targets=["mean_rr"], channels=2).matrix_size
        25
    """

    model_type = "correlation_cnn"

    targets: list[str] | tuple[str, ...] | None = None
    limits: dict[str, list[float] | tuple[float, ...]] | None = None
    channels: int = 1
    matrix_size: int = 25
    filters: list[int] | tuple[int, ...] = (64, 128, 256, 512)
    hidden_size: int = 1024
    pooled_size: int = 2
    predictor_type: str = "correlation_cnn"
    format_version: int = 1

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the sizes."""
        for name in ("channels", "matrix_size", "hidden_size", "pooled_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` is {getattr(self, name)}; it must be 1 or more")
        self.targets = list(self.targets or ["mean_p10"])
        # The hash belongs to one file of weights; a model saved again would carry a stale one.
        for name in OF_FILES:
            kwargs.pop(name, None)
        super().__post_init__(**kwargs)


announce(CorrelationCnnConfig)
