"""The common configuration, output and loss of neural predictors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from transformers import AutoConfig, PreTrainedConfig
from transformers.utils import ModelOutput

from pqpp_backbones.checkpoint import FILE_HASH_KEYS
from pqpp_models.targets import check_limits, resolve_targets


class PredictorConfig(PreTrainedConfig):
    """Common configuration of neural predictors.

    Args:
        targets: Names of the outputs, in order.
        limits: Lowest and highest value of each target without a fixed range, like a rating.
    """

    BACKBONE: ClassVar[str] = ""
    """The default `model_type` of the backbone, if there is a field `backbone_config`."""

    targets: list[str] | tuple[str, ...] | None = None
    limits: dict[str, list[float] | tuple[float, ...]] | None = None
    format_version: int = 1

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the targets, and build the configuration of the backbone."""
        self.targets = list(resolve_targets(list(self.targets or ["mean_hbpp"])))
        check_limits(self.targets, self.limits)
        if self.BACKBONE:
            backbone = vars(self)["backbone_config"]
            if not isinstance(backbone, PreTrainedConfig):
                fields = {"model_type": self.BACKBONE, **(backbone or {})}
                backbone = AutoConfig.for_model(**fields)
            self.backbone_config = backbone
            # The parent writes its attention setting into the backbone, so that is its default.
            kwargs.setdefault("attn_implementation", backbone._attn_implementation)
        # The hash belongs to one file of weights; it would be wrong in a model saved again.
        for name in (*FILE_HASH_KEYS, "num_labels"):
            kwargs.pop(name, None)
        super().__post_init__(**kwargs)


@dataclass
class PerformanceOutput(ModelOutput):
    """Predicted performance of a batch.

    Attributes:
        loss: Mean loss over the known labels, if there are labels.
        scores: `(batch, targets)`, performance scaled to 0 .. 1.
        logits: `(batch, targets)`, before the last activation.
    """

    loss: torch.Tensor | None = None
    scores: torch.Tensor | None = None
    logits: torch.Tensor | None = None


def masked_mean_squared_error(
    scores: torch.Tensor, labels: torch.Tensor, weights: list[float] | None = None
) -> torch.Tensor:
    """Return the mean squared error over known labels; 0 if all labels are NaN.

    Args:
        scores: `(batch, targets)`.
        labels: `(batch, targets)`.
        weights: One per target; default: 1.

    Example:
        >>> labels = torch.tensor([[1.0, float("nan")]])
        >>> float(masked_mean_squared_error(torch.tensor([[0.0, 5.0]]), labels))
        1.0
    """
    known = ~torch.isnan(labels)
    # Unlike `scores[known]`, this keeps all scores in the graph, even if no label is known.
    # Distributed training needs the same graph in every process.
    squares = ((scores.float() - torch.nan_to_num(labels)) * known).square()
    if weights is not None:
        squares = squares * squares.new_tensor(weights)
    return squares.sum() / known.sum().clamp(min=1)
