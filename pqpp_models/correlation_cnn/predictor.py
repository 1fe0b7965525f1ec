"""The correlation-based CNN as a predictor: similarities among results in, performance out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.images.rows import read_mappings
from pqpp_models.targets import target_limits, unscale_targets
from pqpp_models.torch_predictor import TorchPredictor, scores_to_array


class CorrelationCnnPredictor(TorchPredictor):
    """Predicts performance from the similarities among the results of a prompt.

    PQPP, sections 5.2 and 11. A row holds `similarities` or embeddings, see
    `pqpp_models.correlation_cnn.matrices`; it needs no prompt.
    """

    name = "correlation_cnn"
    inputs = "text+scores"
    made_by = "training/train_correlation_cnn.py"
    chunk_size = 1024

    @property
    def required_columns(self) -> tuple[tuple[str, ...], ...]:
        """Of each group of columns a row must hold at least one."""
        return (("similarities", "embeddings", "clip_embeddings", "blip2_embeddings"),)

    @classmethod
    def model_class(cls) -> Any:
        """Return `CorrelationCnnForPerformancePrediction`."""
        from pqpp_models.correlation_cnn.modeling_correlation_cnn import (
            CorrelationCnnForPerformancePrediction,
        )

        return CorrelationCnnForPerformancePrediction

    def _try(self) -> None:
        config = self.model.config
        self.score(np.zeros((1, config.channels, *[config.matrix_size] * 2), np.float32))

    def _read_rows(self, rows: Any) -> list[Any]:
        return read_mappings(rows)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_models.correlation_cnn.matrices import matrices_of

        config = self.model.config
        scores = self.score(matrices_of(rows, config.channels, config.matrix_size))
        columns = [self.targets.index(target) for target in targets]
        values = unscale_targets(scores, self.targets, self.limits)[:, columns]
        return np.clip(values, *target_limits(targets, self.limits))

    def score(self, matrices: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what the network says of matrices, scaled to 0 .. 1."""
        return score_matrices(self.model, matrices, self.batch_size)


def score_matrices(
    model: Any, matrices: NDArray[np.float32], batch_size: int
) -> NDArray[np.float64]:
    """Return the scores of matrices, `(rows, targets)`."""
    import torch

    device = next(model.parameters()).device
    parts = []
    with torch.inference_mode():
        for start in range(0, len(matrices), batch_size):
            batch = torch.from_numpy(matrices[start : start + batch_size]).to(device)
            parts.append(scores_to_array(model(batch).scores))
    return np.concatenate(parts)
