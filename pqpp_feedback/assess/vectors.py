"""Features as vectors of length 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_rows(features: Any) -> NDArray[np.float64]:
    """Return vectors along the last axis divided by their lengths; one of zeros stays.

    Example:
        >>> unit_rows([[3, 4], [0, 0]]).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    vectors = np.asarray(features, dtype=np.float64)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
