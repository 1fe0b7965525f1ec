"""Distinct prompts from a large collection of captions: cluster their embeddings, keep the nearest.

Source: PQPP paper, section 3 ("Prompt selection"): sentence embeddings, k-means with k-means++
initialisation, and of each cluster the caption nearest to its centre.
"""

from pathlib import Path
from types import ModuleType

import numpy as np

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.extras import needing
from pqpp_files.foreign.arrays import load_array

_ITERATIONS = 10
_LARGEST = 1e15  # squares of larger ones, summed, leave single precision


def select_captions(embeddings: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Choose captions that cover a collection.

    The centres begin as a k-means++ sample and are moved by Lloyd's iterations (faiss); the caption
    nearest to a centre is chosen from its own cluster, so that none is chosen twice.
    The same seed on the same machine gives the same captions.

    Args:
        embeddings: Shape (captions, dimensions), finite numbers.

    Returns:
        int64 (count,), the chosen rows in rising order, all different.

    Raises:
        BenchmarkError: If the count is not from 1 to the number of distinct embeddings, or the seed
            not from 0 to 2,147,483,647.
        BenchmarkError: If the embeddings are not a table of finite numbers.

    Example:
        >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> select_captions(points, 2).tolist()
        [1, 4]
    """
    usable = (np.abs(embeddings) <= _LARGEST).all(axis=1)  # nor is NaN
    if not usable.all():
        row = int(np.argmin(usable))
        raise BenchmarkError(f"embeddings, row {row}: a value is not finite or beyond {_LARGEST:g}")
    require_selectable(len(embeddings), count, seed)
    points = np.ascontiguousarray(embeddings, dtype=np.float32)
    # Distances to far-off points lose digits in single precision; a shift changes no distance.
    points = points - points.mean(axis=0)
    if (distinct := len(np.unique(points, axis=0))) < count:
        raise BenchmarkError(f"count={count}: only {distinct} embeddings are distinct; lower it")
    faiss = require_faiss()
    # A dozen points a centre are what is asked for here: no sub-sampling, no warning.
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(points)}
    start = {"seed": seed, "init_method": faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS}
    kmeans = faiss.Kmeans(points.shape[1], count, niter=_ITERATIONS, **start, **limits)
    kmeans.train(points)
    return np.sort(_choose_nearest(points, kmeans.centroids))


def require_selectable(captions: int, count: int, seed: int = 0) -> None:
    """Refuse a choice that cannot be made, before minutes of embedding.

    Example:
        >>> require_selectable(10, 11)
        Traceback (most recent call last):
        pqpp_datasets.errors.BenchmarkError: count=11: give 1 to 10, the number of captions
    """
    if not 1 <= count <= captions:
        raise BenchmarkError(f"count={count}: give 1 to {captions}, the number of captions")
    if not 0 <= seed < 2**31:
        raise BenchmarkError(f"seed={seed}: give 0 to {2**31 - 1}")


def _choose_nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the row nearest to each centre, of its own cluster, and as many rows as centres."""
    index = require_faiss().IndexFlatL2(points.shape[1])
    index.add(centres)
    distance, cluster = (columns[:, 0] for columns in index.search(points, 1))
    order = np.lexsort((np.arange(len(points)), distance, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    chosen = order[first]
    if len(chosen) == len(centres):
        return chosen
    # Duplicate captions can empty a cluster: the points farthest from their centres fill up.
    free = np.setdiff1d(np.arange(len(points)), chosen)
    farthest = free[np.argsort(-distance[free], kind="stable")]
    return np.r_[chosen, farthest[: len(centres) - len(chosen)]]


def require_faiss() -> ModuleType:
    """Return the module faiss, or say which extra installs it."""
    with needing("selecting", "select"):
        import faiss
    return faiss


def read_embeddings(path: str | Path, captions: int) -> np.ndarray:
    """Read embeddings, one row per caption, from a `.npy` file without objects."""
    points = load_array(path, BenchmarkError)
    if points.ndim != 2 or len(points) != captions or points.dtype.kind not in "fiu":
        came = f"{points.dtype} of shape {points.shape} came"
        raise BenchmarkError(f"{path}: {came}, expected numbers of ({captions}, dimensions)")
    return points
