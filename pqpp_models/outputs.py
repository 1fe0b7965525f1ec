"""What the neural predictors return, and the loss that they share."""

from dataclasses import dataclass

import torch
from transformers.utils import ModelOutput


@dataclass
class PerformanceOutput(ModelOutput):
    """Predicted performance of a batch.

    Attributes:
        loss: Mean loss over the known labels, where labels were given.
        scores: `(batch, targets)`, performance scaled to 0 .. 1.
        logits: `(batch, targets)`, the same before the last function.
    """

    loss: torch.Tensor | None = None
    scores: torch.Tensor | None = None
    logits: torch.Tensor | None = None


def known_mean_squared_error(
    scores: torch.Tensor, labels: torch.Tensor, weights: list[float] | None = None
) -> torch.Tensor:
    """Return the mean squared error over the labels that are not NaN; 0 where none is known.

    Args:
        scores: `(batch, targets)`.
        labels: `(batch, targets)`.
        weights: One a target; all 1 if left out.

    Example:
        >>> labels = torch.tensor([[1.0, float("nan")]])
        >>> float(known_mean_squared_error(torch.tensor([[0.0, 5.0]]), labels))
        1.0
    """
    known = ~torch.isnan(labels)
    # Not `scores[known]`: a multiplication by zero keeps the graph whole where nothing is known,
    # which distributed training needs in every process.
    error = (scores.float() - torch.nan_to_num(labels)) * known
    squares = error.square()
    if weights is not None:
        squares = squares * squares.new_tensor(weights)
    return squares.sum() / known.sum().clamp(min=1)
