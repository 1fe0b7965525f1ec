"""From rows with similarities or embeddings to the matrices that the network takes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError

# The retrieval models whose embeddings a row may hold, `<model>_embeddings`, in channel order.
CHANNELS = ("clip", "blip2")
_ALLOWED = (
    "'similarities' (n x n, or one n x n a channel), 'embeddings' (n x size), or "
    "'clip_embeddings' and 'blip2_embeddings'"
)


def cosine_similarities(embeddings: ArrayLike) -> NDArray[np.float32]:
    """Return the cosine similarities among embeddings; those of a zero vector are 0.

    Example:
        >>> cosine_similarities([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]])[0].tolist()
        [1.0, 0.0, 1.0]
    """
    vectors = np.asarray(embeddings, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    return (unit @ unit.T).astype(np.float32)


def fit_size(matrices: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Cut matrices to the first results, or fill them with zeros.

    Example:
        >>> fit_size(np.ones((1, 2, 2), dtype=np.float32), 3)[0, 2].tolist()
        [0.0, 0.0, 0.0]
    """
    kept = matrices[:, :size, :size]
    missing = size - kept.shape[1]
    return np.pad(kept, ((0, 0), (0, missing), (0, missing)))


def matrices_of(rows: Sequence[Any], channels: int, size: int) -> NDArray[np.float32]:
    """Return the matrices of rows, as `(rows, channels, size, size)`.

    Args:
        rows: Mappings with `similarities`, `embeddings` or `<model>_embeddings`, results in their
            order.
        channels: Matrices a row.
        size: Results a matrix.

    Raises:
        PredictorError: A row has none of these, or its matrices are not square, finite or enough.

    Example:
        >>> matrices_of([{"similarities": [[1.0, 0.5], [0.5, 1.0]]}], channels=1, size=2).shape
        (1, 1, 2, 2)
    """
    stacked = np.empty((len(rows), channels, size, size), dtype=np.float32)
    for index, row in enumerate(rows):
        matrices = _matrices(row, index)
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.size:
            raise PredictorError(
                f"the similarities of the row at index {index} have the shape {matrices.shape}; "
                f"give {_ALLOWED}"
            )
        if len(matrices) != channels:
            raise PredictorError(
                f"the row at index {index} has {len(matrices)} matrices, the predictor takes "
                f"{channels}, one a retrieval model"
            )
        if not np.isfinite(matrices).all():
            raise PredictorError(
                f"the row at index {index} has similarities that are not finite; drop the row"
            )
        stacked[index] = fit_size(matrices, size)
    return stacked


def _matrices(row: Any, index: int) -> NDArray[np.float32]:
    if not isinstance(row, Mapping):
        raise PredictorError(f"the row at index {index} is not a mapping; give {_ALLOWED}")
    try:
        if row.get("similarities") is not None:
            given = np.asarray(row["similarities"], dtype=np.float32)
            return given[None] if given.ndim == 2 else given
        if row.get("embeddings") is not None:
            return cosine_similarities(row["embeddings"])[None]
        named = [row[f"{m}_embeddings"] for m in CHANNELS if row.get(f"{m}_embeddings") is not None]
        matrices = [cosine_similarities(embeddings) for embeddings in named]
        if matrices:
            return np.stack([fit_size(m[None], max(map(len, matrices)))[0] for m in matrices])
    except (TypeError, ValueError):
        raise PredictorError(
            f"the row at index {index} has ragged or unreadable numbers; give {_ALLOWED}"
        ) from None
    raise PredictorError(f"the row at index {index} has no similarities; give {_ALLOWED}")
