"""Array functions that the text predictors share."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
AnyFloats = TypeVar("AnyFloats", Singles, Floats)
Arrays = dict[str, NDArray[Any]]
INT8_SCALE = 127.0
"""The divisor of int8 vectors and points."""
_WEIGHT_GRID, _ROW_GRID = 2.0**24, 2.0**20  # steps per unit
_CHUNK = 512


def normalise_rows(array: ArrayLike) -> Singles:
    """Scale each row to length one; rows of zeros are unchanged.

    >>> normalise_rows([[0.0, 4.0], [0.0, 0.0]]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    values = np.asarray(array, dtype=np.float32)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)


def round_to_grid(weights: ArrayLike) -> Floats:
    """Round weights to multiples of 2**-24, for `multiply_exactly`.

    >>> float(round_to_grid([0.1])[0]) == round(0.1 * 2**24) / 2**24
    True
    """
    return np.rint(np.asarray(weights, np.float64) * _WEIGHT_GRID) / _WEIGHT_GRID


def to_points(codes: NDArray[np.int8]) -> Floats:
    """Return unit vectors that are stored as int8 rows, one per column, for `multiply_exactly`."""
    return round_to_grid(codes.T / INT8_SCALE)


def multiply_exactly(rows: NDArray[Any], weights: Floats) -> Singles:
    """Return ``rows @ weights`` such that each row does not depend on the other rows.

    BLAS adds in an order that depends on the number of rows. Here, rows are rounded to multiples of
    2**-20, so that sums below 512 are exact in any order. Weights must be integers or outputs of
    `round_to_grid`.

    >>> rows = np.random.default_rng(0).random((9, 300))
    >>> weights = round_to_grid(rows[:2].T)
    >>> bool((multiply_exactly(rows, weights)[:1] == multiply_exactly(rows[:1], weights)).all())
    True
    """
    product = np.empty((len(rows), weights.shape[1]), np.float32)
    for start in range(0, len(rows), _CHUNK):
        chunk = np.multiply(rows[start : start + _CHUNK], _ROW_GRID, dtype=np.float64)
        product[start : start + _CHUNK] = np.rint(chunk) / _ROW_GRID @ weights
    return product


def square_distances(rows: AnyFloats, points: AnyFloats) -> AnyFloats:
    """Return the squared Euclidean distances between two sets of rows.

    >>> square_distances(np.array([[0.0, 1.0]]), np.array([[3.0, 5.0]])).tolist()
    [[25.0]]
    """
    first, second = (rows**2).sum(axis=1), (points**2).sum(axis=1)
    return np.maximum(first[:, None] + second - 2 * rows @ points.T, 0)


def add_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Add a prefix to the names of arrays.

    >>> list(add_prefix("words.", {"counts": np.zeros(1)}))
    ['words.counts']
    """
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def select_prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Select the arrays whose names start with a prefix, and remove the prefix from the names.

    >>> list(select_prefixed("words.", {"words.counts": np.zeros(1), "labels": np.zeros(1)}))
    ['counts']
    """
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def iterate_chunks(rows: Any, size: int = 512) -> Iterator[Any]:
    """Yield chunks of rows; if there are no rows, yield one empty chunk.

    >>> [len(part) for part in iterate_chunks(np.zeros((3, 1), np.float32), 2)]
    [2, 1]
    """
    for start in range(0, max(len(rows), 1), size):
        yield rows[start : start + size]
