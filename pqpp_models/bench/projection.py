"""A predictor's space in two dimensions: t-SNE as in the PQPP paper (Figure 8), or UMAP."""

import importlib
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.extras import needing
from pqpp_models.errors import PredictorError

TITLES = {"tsne": "t-SNE", "umap": "UMAP"}
METHODS = tuple(TITLES)
_MODULES = {"tsne": "sklearn.manifold", "umap": "umap"}
SEED = 0
_PERPLEXITY = _NEIGHBOURS = 30


class Projection(NamedTuple):
    """A space in two dimensions.

    Attributes:
        points: shape ``(rows, 2)``; axes and distances between far points mean nothing.
        method: a key of `TITLES`.
    """

    points: NDArray[np.float64]
    method: str


def project(points: ArrayLike, method: str | None = None, seed: int = SEED) -> Projection:
    """Return points in two dimensions such that neighbours stay neighbours.

    Args:
        points: shape ``(rows, size)``.
        method: ``tsne`` or ``umap``; t-SNE if left out.
        seed: of what is random; the same seed gives the same picture.

    Returns:
        The points, and which method was used.

    Raises:
        PredictorError: the method is unknown, or there are fewer than five rows.
        MissingExtraError: scikit-learn, or umap-learn, is not installed.

    >>> project(np.eye(6)).points.shape
    (6, 2)
    """
    array = np.asarray(points, dtype=np.float32)
    method = method or METHODS[0]
    if method not in METHODS:
        raise PredictorError(f"projection {method!r} is unknown; use {' or '.join(METHODS)}")
    if array.ndim != 2 or len(array) < 5:
        raise PredictorError(f"points have shape {array.shape}; five rows are the least")
    require_method(method)
    found = _tsne(array, seed) if method == "tsne" else _umap(array, seed)
    return Projection(found.astype(np.float64), method)


def require_method(method: str) -> None:
    """Say at once where the package of a method is missing.

    Raises:
        MissingExtraError: scikit-learn, or umap-learn, is not installed.
    """
    with needing(f"{TITLES[method]} (see --projection)", "plots"):
        importlib.import_module(_MODULES[method])


def _tsne(points: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(points) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(points)


def _umap(points: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from umap import UMAP

    neighbours = min(_NEIGHBOURS, len(points) - 1)
    start = "spectral" if len(points) > 12 else "random"
    with warnings.catch_warnings():  # a fixed seed means one thread, which UMAP warns of
        warnings.simplefilter("ignore")
        model = UMAP(n_neighbors=neighbours, init=start, random_state=seed, n_jobs=1)
        return model.fit_transform(points)
