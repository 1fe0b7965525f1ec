"""Ridge regression in closed form, for many strengths at the price of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRENGTHS = tuple(10.0 ** (step / 4) for step in range(-12, 13))
"""The strengths that are tried: .001 to 1000, four a decade."""


def solve(
    rows: Floats, values: Floats, strengths: Sequence[float] = STRENGTHS
) -> tuple[Floats, Floats]:
    """Solve ridge regression with an intercept that is not shrunk.

    Minimises ``|rows @ slopes + intercept - values|² + strength * |slopes|²`` for each strength,
    by the eigenvectors of the smaller of the two matrices of products.

    Args:
        rows: shape ``(rows, columns)``.
        values: shape ``(rows, targets)``.

    Returns:
        Slopes of shape ``(strengths, columns, targets)``, intercepts ``(strengths, targets)``.

    >>> slopes, intercepts = solve(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), [2.0])
    >>> slopes.ravel().tolist(), intercepts.ravel().tolist()
    ([1.0], [2.0])
    """
    mean, level = rows.mean(axis=0), values.mean(axis=0)
    rows, values = rows - mean, values - level
    few = rows.shape[0] < rows.shape[1]
    squares, vectors = np.linalg.eigh(rows @ rows.T if few else rows.T @ rows)
    told = vectors.T @ (values if few else rows.T @ values)
    basis = rows.T @ vectors if few else vectors
    squares = np.maximum(squares, 0)[:, None]
    slopes = np.stack([basis @ (told / (squares + strength)) for strength in strengths])
    return slopes, level - mean @ slopes


def cross_validate(
    rows: Floats,
    values: Floats,
    part: NDArray[np.int64],
    strengths: Sequence[float] = STRENGTHS,
    progress: bool = False,
) -> tuple[NDArray[np.int64], Floats]:
    """Choose each target's strength, and predict each row from the other parts' rows.

    Args:
        rows: shape ``(rows, columns)``.
        values: shape ``(rows, targets)``.
        part: the part of each row, 0, 1, 2 ...
        progress: show a bar on standard error.

    Returns:
        The places in ``strengths`` with the least squared error over all parts, one a target; and
        the left-out predictions, each by a strength chosen on the other parts alone.
    """
    from tqdm.auto import tqdm

    parts = range(int(part.max()) + 1)
    found = np.empty((len(strengths), *values.shape))
    errors = np.empty((len(strengths), len(parts), values.shape[1]))
    for number in tqdm(parts, desc="cross-validation", unit="part", disable=not progress):
        there = part == number
        slopes, intercepts = solve(rows[~there], values[~there], strengths)
        found[:, there] = rows[there] @ slopes + intercepts[:, None]
        errors[:, number] = ((found[:, there] - values[there]) ** 2).sum(axis=1)
    total = errors.sum(axis=1)
    left_out = np.empty(values.shape)
    for number in parts:
        there = np.flatnonzero(part == number)
        best = (total - errors[:, number]).argmin(axis=0)
        for target, strength in enumerate(best):
            left_out[there, target] = found[strength, there, target]
    return total.argmin(axis=0), left_out
