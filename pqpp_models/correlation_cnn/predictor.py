"""The correlation-based CNN as a predictor: similarities among results in, performance out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.images.rows import read_mappings
from pqpp_models.targets import target_limits, unscale_targets
from pqpp_models.torch_predictor import TorchPredictor


class CorrelationCnnPredictor(TorchPredictor):
    """Predicts performance from the similarities among the results of a prompt.

    PQPP, sections 5.2 and 11. A row holds `similarities` or embeddings, see
    `pqpp_models.correlation_cnn.matrices`; it needs no prompt.
    """

    name = "correlation_cnn"
    model_type = "correlation_cnn"
    inputs = "text+scores"
    required_columns = (("similarities", "embeddings", "clip_embeddings", "blip2_embeddings"),)
    made_by = "pqpp train correlation_cnn"
    chunk_size = 1024

    def _try(self) -> None:
        config = self.model.config
        nothing = np.zeros((1, config.channels, *[config.matrix_size] * 2), np.float32)
        score_matrices(self.model, nothing, 1)

    read_rows = staticmethod(read_mappings)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_models.correlation_cnn.matrices import matrices_of

        config = self.model.config
        matrices = matrices_of(rows, config.channels, config.matrix_size)
        scores = score_matrices(self.model, matrices, self.batch_size)
        columns = [self.targets.index(target) for target in targets]
        values = unscale_targets(scores, self.targets, self.limits)[:, columns]
        return np.clip(values, *target_limits(targets, self.limits))


def score_matrices(
    model: Any, matrices: NDArray[np.float32], batch_size: int
) -> NDArray[np.float64]:
    """Return the scores of matrices, `(rows, targets)`."""
    import torch

    from pqpp_backbones.images.embedding import in_batches

    device = next(model.parameters()).device
    scored = in_batches(
        matrices, lambda part: model(torch.from_numpy(part).to(device)).scores, batch_size
    )
    return scored.astype(np.float64)
