"""Arrays of the text predictors: their types, their scale, and their names in a checkpoint."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
AnyFloats = TypeVar("AnyFloats", Singles, Floats)
Arrays = dict[str, NDArray[Any]]
INT8_SCALE = 127.0
"""What int8 vectors and points are divided by."""


def unit(array: ArrayLike) -> Singles:
    """Scale rows to length one; a row of zeros stays.

    >>> unit([[0.0, 4.0], [0.0, 0.0]]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    values = np.asarray(array, dtype=np.float32)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)


def squared_distances(rows: AnyFloats, points: AnyFloats) -> AnyFloats:
    """Return the squared Euclidean distances between two sets of rows.

    >>> squared_distances(np.array([[0.0, 1.0]]), np.array([[3.0, 5.0]])).tolist()
    [[25.0]]
    """
    first, second = (rows**2).sum(axis=1), (points**2).sum(axis=1)
    return np.maximum(first[:, None] + second - 2 * rows @ points.T, 0)


def prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return arrays with a prefix before their names.

    >>> list(prefixed("words.", {"counts": np.zeros(1)}))
    ['words.counts']
    """
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def unprefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays whose names have a prefix, without it: what `prefixed` was given.

    >>> list(unprefixed("words.", {"words.counts": np.zeros(1), "labels": np.zeros(1)}))
    ['counts']
    """
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def chunks(rows: Singles, size: int = 512) -> Iterator[Singles]:
    """Cut rows into parts that fit the memory; no rows are one empty part.

    >>> [len(part) for part in chunks(np.zeros((3, 1), np.float32), 2)]
    [2, 1]
    """
    for start in range(0, max(len(rows), 1), size):
        yield rows[start : start + size]
