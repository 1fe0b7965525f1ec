"""Sums over all pairs of queries, for many weightings of the queries at once.

Kendall's tau counts pairs. Over thousands of resamples of the same queries the signs of the pairs
stay and only the weights change, so all the counts are one product of matrices, of small integers
that single precision holds exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._types import Floats

# Sums within a block stay far below 2**24, beyond which single precision skips integers.
_BLOCK = 1024


def signs(left: Floats, right: Floats) -> NDArray[np.float32]:
    """Sign of every difference left[i] - right[j], as float32 (left, right)."""
    return np.sign(left[:, None] - right[None, :]).astype(np.float32)


def pair_sums(
    weights: NDArray[np.float32], symmetric_block: Callable[[slice, slice], NDArray[np.float32]]
) -> Floats:
    """For each row w of weights, the sum over all i, j of w[i] w[j] matrix[i, j], exact.

    Args:
        weights: float32 whole numbers, shape (resamples, n).
        symmetric_block: Takes two slices, returns that block of a symmetric matrix of small
            whole numbers, float32.
    """
    n = weights.shape[1]
    total = np.zeros(len(weights))
    slices = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
    for first, rows in enumerate(slices):
        left = np.ascontiguousarray(weights[:, rows])
        for columns in slices[first:]:
            product = left @ symmetric_block(rows, columns)
            part = np.einsum("ij,ij->i", product, weights[:, columns]).astype(np.float64)
            total += part if rows is columns else 2 * part
    return total
