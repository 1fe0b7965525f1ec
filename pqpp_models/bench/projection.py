"""A predictor's space in two dimensions, by t-SNE as in the PQPP paper (Figure 8)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.extras import needing
from pqpp_models.errors import PredictorError

_PERPLEXITY = 30


def project(points: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Return points in two dimensions such that neighbours stay neighbours.

    Args:
        points: shape ``(rows, size)``.
        seed: of what is random; the same seed gives the same picture.

    Returns:
        Points of shape ``(rows, 2)``; axes and distances between far points mean nothing.

    Raises:
        PredictorError: there are fewer than five rows.
        MissingExtraError: scikit-learn is not installed.

    >>> project(np.eye(6)).shape
    (6, 2)
    """
    array = np.asarray(points, dtype=np.float32)
    if array.ndim != 2 or len(array) < 5:
        raise PredictorError(f"points have shape {array.shape}; give five rows or more")
    with needing("t-SNE (see --no-spaces)", "plots"):
        from sklearn.manifold import TSNE
    perplexity = min(_PERPLEXITY, (len(array) - 1) / 3)
    model = TSNE(perplexity=perplexity, init="pca", random_state=seed)
    return model.fit_transform(array).astype(np.float64)
