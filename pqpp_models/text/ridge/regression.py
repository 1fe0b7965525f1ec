"""Ridge regression of several targets with many strengths, at the price of one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.arrays import Floats

RIDGE_STRENGTHS = tuple(10.0 ** (step / 4) for step in range(-12, 13))
"""The strengths that are tried: .001 to 1000, four a decade."""

_MOST_LEVERAGE = 1 - 1e-6


class RidgeFit(NamedTuple):
    """A ridge regression of several targets.

    Attributes:
        slopes: shape ``(columns, targets)``.
        intercept: one a target.
        strength: the place of each target's strength among those that were tried.
        left_out: shape ``(rows, targets)``: what each row is predicted from all others, by that
            strength.
    """

    slopes: Floats
    intercept: Floats
    strength: NDArray[np.int64]
    left_out: Floats


def ridge_with_best_strength(
    rows: Floats, values: Floats, strengths: Sequence[float] = RIDGE_STRENGTHS
) -> RidgeFit:
    """Fit ridge regression with an intercept that is not shrunk.

    Minimises ``|rows @ slopes + intercept - values|² + strength * |slopes|²`` by the eigenvectors
    of the smaller matrix of products. Of each target's strengths the one is kept whose predictions
    of rows that were left out have the least squared error; these follow from the leverages, in
    closed form (Allen's PRESS, 1974).

    Args:
        rows: shape ``(rows, columns)``, two rows or more.
        values: shape ``(rows, targets)``.

    >>> fitted = ridge_with_best_strength(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), [2.0])
    >>> fitted.slopes.tolist(), fitted.intercept.tolist(), fitted.left_out.ravel().tolist()
    ([[1.0]], [2.0], [5.0, 1.0])
    """
    centred, goals, squares, vectors, few = _decomposed(rows, values)
    # `basis @ diag(weight) @ basis.T` gives fitted values, `weight` by the strength.
    basis = vectors if few else centred @ vectors
    projected, energy = basis.T @ goals, basis**2
    scale = squares if few else np.ones_like(squares)
    best = np.full(values.shape[1], np.inf)
    place = np.zeros(values.shape[1], dtype=np.int64)
    left_out, shrunk = np.zeros_like(values), np.zeros_like(projected)
    for number, strength in enumerate(strengths):
        weight = scale / (squares + strength)
        leverage = np.minimum(energy @ weight + 1 / len(rows), _MOST_LEVERAGE)
        residual = goals - basis @ (weight[:, None] * projected)
        residual /= 1 - leverage[:, None]
        error = (residual**2).sum(axis=0)
        better = error < best
        best[better], place[better] = error[better], number
        left_out[:, better] = (goals - residual)[:, better]
        shrunk[:, better] = (projected / (squares + strength)[:, None])[:, better]
    slopes = centred.T @ (vectors @ shrunk) if few else vectors @ shrunk
    level = values.mean(axis=0)
    return RidgeFit(slopes, level - rows.mean(axis=0) @ slopes, place, left_out + level)


def solve_ridge(rows: Floats, values: Floats, strengths: Sequence[float]) -> tuple[Floats, Floats]:
    """Return what `ridge_with_best_strength` minimises with, for each strength.

    Returns:
        Slopes of shape ``(strengths, columns, targets)``, intercepts ``(strengths, targets)``.

    >>> slopes, intercepts = solve_ridge(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), [2.0])
    >>> slopes.ravel().tolist(), intercepts.ravel().tolist()
    ([1.0], [2.0])
    """
    centred, goals, squares, vectors, few = _decomposed(rows, values)
    projected = vectors.T @ (goals if few else centred.T @ goals)
    basis = centred.T @ vectors if few else vectors
    slopes = np.stack(
        [basis @ (projected / (squares + strength)[:, None]) for strength in strengths]
    )
    return slopes, values.mean(axis=0) - rows.mean(axis=0) @ slopes


def _decomposed(rows: Floats, values: Floats) -> tuple[Floats, Floats, Floats, Floats, bool]:
    """Return centred rows and values, and eigenvalues and eigenvectors of the smaller products."""
    rows, values = rows - rows.mean(axis=0), values - values.mean(axis=0)
    few = rows.shape[0] < rows.shape[1]
    squares, vectors = np.linalg.eigh(rows @ rows.T if few else rows.T @ rows)
    return rows, values, np.maximum(squares, 0.0), vectors, few
