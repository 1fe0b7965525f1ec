"""Documents in the order of rank, with ties resolved or grouped."""

from types import ModuleType
from typing import Any

import numpy as np

from pqpp_metrics.functional._containers import Array, Floats


def get_score_below(lowest: float | Floats, highest: float | Floats) -> Any:
    """Return a finite score below all scores from `lowest` to `highest`, also elementwise."""
    with np.errstate(over="ignore"):
        score = np.maximum(lowest - (highest - lowest), -np.finfo(np.float64).max)
    return np.minimum(score, np.nextafter(lowest, -np.inf))


def count_true(xp: ModuleType, mask: Array) -> Array:
    """Count the True entries of each row of a bool array (queries, documents)."""
    return xp.sum(mask, axis=1, dtype=xp.int64)


def divide(xp: ModuleType, part: Array, whole: Array) -> Array:
    """Return `part` divided by `whole`, or 0 if `whole` is 0; float64 (queries,)."""
    whole = xp.astype(whole, xp.float64)
    return xp.where(whole > 0, part / xp.where(whole > 0, whole, 1.0), 0.0)


def sum_weighted_rows(xp: ModuleType, rows: Array, weights: Array) -> Array:
    """Return the weighted sum of each row, float64 (queries,), unaffected by the other rows."""
    return xp.vecdot(rows, weights[None, :])


def order_documents(xp: ModuleType, scores: Array, priority: Array, ties: str) -> Array:
    """Return each query's document indices by rank.

    Among equal scores, "optimistic" ranks the highest `priority` first, "pessimistic" the lowest,
    and "order" the earlier column.
    """
    if ties in ("optimistic", "pessimistic"):
        first = xp.argsort(-priority if ties == "optimistic" else priority, axis=1, stable=True)
        scores = xp.take_along_axis(scores, first, axis=1)
        return xp.take_along_axis(first, xp.argsort(-scores, axis=1, stable=True), axis=1)
    return xp.argsort(-scores, axis=1, stable=ties == "order")
