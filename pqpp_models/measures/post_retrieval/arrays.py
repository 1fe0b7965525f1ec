"""Checking and padding the arrays of result lists.

A result list is a row; lists of different lengths are padded with NaN at any place. A list without
a document has no evidence, and every function of this package gives NaN for it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError

Scores = NDArray[np.float64]


def pad(lists: Iterable[ArrayLike]) -> Scores:
    """Put lists of scores of different lengths into one array, padded with NaN.

    >>> pad([[0.5], [0.9, 0.1]]).tolist()
    [[0.5, nan], [0.9, 0.1]]
    """
    rows = [np.asarray(row, dtype=np.float64).reshape(-1) for row in lists]
    padded = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


def ranked(scores: ArrayLike) -> Scores:
    """Check scores and sort each list, the highest first and padding last.

    Args:
        scores: shape ``(queries, documents)``, in any order, padded with NaN.

    >>> ranked([[0.1, np.nan, 0.3]]).tolist()
    [[0.3, 0.1, nan]]
    """
    # The stable sort puts NaN last; of the negated scores the highest comes first.
    return -np.sort(-checked(scores), axis=1)


def checked(scores: ArrayLike) -> Scores:
    """Return scores as an array of shape ``(queries, documents)``, or say what is wrong."""
    array = np.asarray(scores, dtype=np.float64)
    if np.isinf(array).any():
        raise PredictorError("`scores` holds infinite values; scores must be finite, or NaN")
    return array


def depth(k: int, name: str = "k") -> int:
    """Check a number of documents."""
    if k < 1:
        raise PredictorError(f"`{name}` is {k!r}; it must be a whole number from 1 on")
    return k


def one_a_query(values: ArrayLike | None, n: int, name: str, least: float = -np.inf) -> Scores:
    """Return one number a query; a single number stands for all."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n):
        raise PredictorError(f"`{name}` has shape {array.shape}; give one value, or {n}")
    if not np.isfinite(array).all() or (array < least).any():
        raise PredictorError(f"`{name}` holds values that are not finite or are below {least:g}")
    return np.broadcast_to(array, (n,)).astype(np.float64)


def mean(values: Scores) -> Scores:
    """Return the mean of each row without its padding, NaN for a row of padding only."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def variance(values: Scores) -> Scores:
    """Return the population variance of each row without its padding.

    A row of one value, or of equal ones, has exactly 0; one of padding only has NaN.

    >>> variance(np.array([[1.0, 5.0, np.nan], [0.1, 0.1, 0.1]])).tolist()
    [4.0, 0.0]
    """
    # Taken from the highest value, so that equal ones leave no rounding behind.
    apart = values - np.nanmax(values, axis=1, keepdims=True, initial=-np.inf)
    centre = mean(apart)
    return mean((apart - centre[:, None]) ** 2)


def deviation(values: Scores) -> Scores:
    """Return the population standard deviation of each row: the root of ``variance``."""
    return np.sqrt(variance(values))


def of_collection(scores: Scores, given: ArrayLike | None) -> Scores:
    """Return the score of the collection for each query: as given, or the mean of its scores."""
    return mean(scores) if given is None else one_a_query(given, len(scores), "collection_score")


def over(values: Scores, divisor: Scores) -> Scores:
    """Divide; a value of 0 stays 0 whatever the divisor, another over 0 is undefined (NaN)."""
    quotient = np.divide(values, divisor, out=np.full(len(values), np.nan), where=divisor != 0)
    return np.where(values == 0, 0.0, quotient)
