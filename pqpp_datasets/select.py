"""Selection of diverse prompts from a large collection of captions.

Source: PQPP paper, section 3 ("Prompt selection"): sentence embeddings, k-means with k-means++
initialisation, and the caption nearest to each centre.
"""

from pathlib import Path
from types import ModuleType

import numpy as np

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.extras import require_extra
from pqpp_files.foreign.arrays import load_array

_ITERATIONS = 10
_LIMIT = 1e15  # sums of squares of larger values overflow single precision


def select_captions(embeddings: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Select captions that cover a collection, with k-means (faiss).

    From each cluster, the caption nearest to the centre is selected. The same seed on the same
    machine selects the same captions.

    Args:
        embeddings: Finite numbers, shape (captions, dimensions).
        count: Number of captions to select.

    Returns:
        Indices of distinct captions in ascending order, int64, shape (count,).

    Raises:
        BenchmarkError: The count is not from 1 to the number of distinct embeddings, the seed is
            not from 0 to 2,147,483,647, or an embedding is not finite.

    Example:
        >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> select_captions(points, 2).tolist()
        [1, 4]
    """
    is_valid = (np.abs(embeddings) <= _LIMIT).all(axis=1)  # False for NaN
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise BenchmarkError(f"embeddings, row {row}: expected finite values up to ±{_LIMIT:g}")
    check_selection(len(embeddings), count, seed)
    points = np.ascontiguousarray(embeddings, dtype=np.float32)
    # Distances to far-off points lose digits in single precision; a shift changes no distance.
    points = points - points.mean(axis=0)
    if (distinct := len(np.unique(points, axis=0))) < count:
        raise BenchmarkError(f"count must be at most {distinct} (distinct embeddings); got {count}")
    faiss = require_faiss()
    # Few points per centre are intended: disable subsampling and the warning.
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(points)}
    initialization = {"seed": seed, "init_method": faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS}
    kmeans = faiss.Kmeans(points.shape[1], count, niter=_ITERATIONS, **initialization, **limits)
    kmeans.train(points)
    return np.sort(_choose_nearest(points, kmeans.centroids))


def check_selection(captions: int, count: int, seed: int = 0) -> None:
    """Check the count and the seed of a selection, before embedding.

    Args:
        count: Number of captions to select.

    Raises:
        BenchmarkError: The count or the seed is out of range.

    Example:
        >>> check_selection(10, 11)
        Traceback (most recent call last):
        pqpp_datasets.errors.BenchmarkError: count must be from 1 to 10 (all captions); got 11
    """
    if not 1 <= count <= captions:
        raise BenchmarkError(f"count must be from 1 to {captions} (all captions); got {count}")
    if not 0 <= seed < 2**31:
        raise BenchmarkError(f"seed must be from 0 to {2**31 - 1}; got {seed}")


def _choose_nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index of the point nearest to each centre; a distant one for an empty cluster."""
    index = require_faiss().IndexFlatL2(points.shape[1])
    index.add(centres)
    distance, cluster = (columns[:, 0] for columns in index.search(points, 1))
    order = np.lexsort((np.arange(len(points)), distance, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    nearest = order[first]
    if len(nearest) == len(centres):
        return nearest
    # Duplicate captions can empty a cluster: the points farthest from their centres are added.
    remaining = np.setdiff1d(np.arange(len(points)), nearest)
    farthest = remaining[np.argsort(-distance[remaining], kind="stable")]
    return np.r_[nearest, farthest[: len(centres) - len(nearest)]]


def require_faiss() -> ModuleType:
    """Return the module faiss, or raise an error that names the extra to install."""
    with require_extra("selecting prompts", "select"):
        import faiss
    return faiss


def read_embeddings(path: str | Path, captions: int) -> np.ndarray:
    """Read embeddings, one row per caption, from a `.npy` file of numbers.

    Raises:
        BenchmarkError: The file is invalid or has another number of rows.
    """
    points = load_array(path, BenchmarkError)
    if points.ndim != 2 or len(points) != captions or points.dtype.kind not in "fiu":
        got = f"{points.dtype} of shape {points.shape}"
        raise BenchmarkError(f"{path}: expected numbers of shape ({captions}, N), got {got}")
    return points
