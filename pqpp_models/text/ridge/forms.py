"""The forms of ridge predictors: TF-IDF, network layers, kernels of embeddings, and all of these.

Each form is kernel ridge regression. Its kernel is the kernel of one block of features, or, for the
stack, the sum of all of them. For up to `MOST_LANDMARKS` prompts the kernel is exact; for more, it
is Nyström's approximation with that many landmarks. If a fit starts from a network's predictions,
each form learns the differences from them, and so shrinks to them instead of to a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.arrays import Floats, Singles, square_distances
from pqpp_models.text.ridge.blocks import Features, KernelHead, TfidfHead, compute_idf, weigh_pieces
from pqpp_models.text.ridge.predictor import Standardisation

RIDGE_STRENGTHS = tuple(10.0 ** (step / 4) for step in range(-12, 13))
"""The strengths that are tried: .001 to 1000, four per decade."""

_MAX_LEVERAGE = 1 - 1e-6


class RidgeFit(NamedTuple):
    """A fitted ridge regression.

    Attributes:
        slopes: shape ``(columns, targets)``.
        intercept: one per target.
        strength: the index of each target's best strength.
        loo: leave-one-out predictions at that strength, shape ``(rows, targets)``.
    """

    slopes: Floats
    intercept: Floats
    strength: NDArray[np.int64]
    loo: Floats


def fit_best_ridge(
    rows: Floats, values: Floats, strengths: Sequence[float] = RIDGE_STRENGTHS
) -> RidgeFit:
    """Fit ridge regression with an unpenalised intercept.

    It minimises ``|rows @ slopes + intercept - values|² + strength * |slopes|²``. Each target gets
    the strength with the lowest squared leave-one-out error (PRESS; Allen, 1974).

    Args:
        rows: shape ``(rows, columns)``; at least two rows.
        values: shape ``(rows, targets)``.

    >>> fitted = fit_best_ridge(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), [2.0])
    >>> fitted.slopes.tolist(), fitted.intercept.tolist(), fitted.loo.ravel().tolist()
    ([[1.0]], [2.0], [5.0, 1.0])
    """
    centred, goals = rows - rows.mean(axis=0), values - values.mean(axis=0)
    is_wide = rows.shape[0] < rows.shape[1]
    squares, vectors = np.linalg.eigh(centred @ centred.T if is_wide else centred.T @ centred)
    squares = np.maximum(squares, 0.0)
    # The fitted values are `basis @ diag(weight) @ basis.T @ goals` with `weight` by strength.
    basis = vectors if is_wide else centred @ vectors
    projected, energy = basis.T @ goals, basis**2
    scale = squares if is_wide else np.ones_like(squares)
    best = np.full(values.shape[1], np.inf)
    chosen = np.zeros(values.shape[1], dtype=np.int64)
    loo, coefficients = np.zeros_like(values), np.zeros_like(projected)
    for index, strength in enumerate(strengths):
        weight = scale / (squares + strength)
        leverage = np.minimum(energy @ weight + 1 / len(rows), _MAX_LEVERAGE)
        residual = goals - basis @ (weight[:, None] * projected)
        residual /= 1 - leverage[:, None]
        error = (residual**2).sum(axis=0)
        better = error < best
        best[better], chosen[better] = error[better], index
        loo[:, better] = (goals - residual)[:, better]
        coefficients[:, better] = (projected / (squares + strength)[:, None])[:, better]
    slopes = centred.T @ (vectors @ coefficients) if is_wide else vectors @ coefficients
    level = values.mean(axis=0)
    return RidgeFit(slopes, level - rows.mean(axis=0) @ slopes, chosen, loo + level)


TF_IDF, NETWORK, STACK, BASE = "tf-idf", "network", "stack", "base"
EMBEDDING_KERNEL, ENCODER_KERNEL = "embedding kernel", "encoder kernel"

PART_OF = {EMBEDDING_KERNEL: "embedding", ENCODER_KERNEL: "sentence"}
"""A kernel to the name of its part in a predictor."""

BASE_SLOPE = 0.2
"""The rise of a score per rise of the network's prediction, both in standard deviations."""

MOST_LANDMARKS = 1000
_MIN_EIGENVALUE = 1e-6  # as a share of the largest
_SEED = 0


class FormFit(NamedTuple):
    """A form fitted to some targets.

    Attributes:
        weights: by block, shape ``(columns, targets)``.
        ridge: intercepts, strengths and leave-one-out predictions.
    """

    weights: Mapping[str, Floats]
    ridge: RidgeFit


class Kernels:
    """The kernels of the training prompts and landmarks, by block of features."""

    def __init__(self, features: Features) -> None:
        count = len(features.points)
        landmarks = np.arange(count)
        if count > MOST_LANDMARKS:
            landmarks = np.random.default_rng(_SEED).choice(count, MOST_LANDMARKS, replace=False)
        self.landmarks = np.sort(landmarks)
        self.standardisation = Standardisation.fit(features.blocks)
        self.rarity = compute_idf(features.pieces)
        self.linear: dict[str, Any] = {
            TF_IDF: weigh_pieces(features.pieces, self.rarity),
            NETWORK: np.hstack([features.words, self.standardisation(np.hstack(features.blocks))]),
        }
        self.vectors = {EMBEDDING_KERNEL: features.embedding}
        if features.sentence is not None:
            self.vectors[ENCODER_KERNEL] = features.sentence
        self.base_offset: Floats | None = None
        self.base_slope = self.base_level = 0.0
        if features.base is not None:
            self.base_slope = BASE_SLOPE / max(float(features.base.std()), _MIN_EIGENVALUE)
            self.base_level = float(features.base.mean())
            self.base_offset = self.base_slope * (features.base - self.base_level)
        self.widths: dict[str, float] = {}
        self.scales: dict[str, float] = {}
        self.kernels: dict[str, Singles] = {}
        for name, rows in self.linear.items():  # scaled so that a row's mean squared length is 1
            square = float((rows * rows).sum()) / rows.shape[0]
            self.scales[name] = 1 / max(square, 1e-12)
            products = rows @ rows[self.landmarks].T
            products = products.toarray() if hasattr(products, "toarray") else products
            self.kernels[name] = (products * self.scales[name]).astype(np.float32)
        for name, singles in self.vectors.items():  # the width is the landmarks' median distance
            vectors = singles.astype(np.float64)
            squares = square_distances(vectors, vectors[self.landmarks])
            pairwise = squares[self.landmarks][np.triu_indices(len(self.landmarks), 1)]
            self.widths[name] = max(float(np.median(pairwise)), 1e-6)
            self.kernels[name] = np.exp(-squares / self.widths[name]).astype(np.float32)

    def fit(self, has_score: NDArray[np.bool_], goals: Floats) -> dict[str, FormFit]:
        """Fit all forms to the prompts with scores.

        Args:
            goals: the standardised scores of these prompts.
        """
        offset = 0.0 if self.base_offset is None else self.base_offset[has_score, None]
        goals = goals - offset
        forms = {name: [name] for name in self.kernels} | {STACK: list(self.kernels)}
        fitted = {}
        for form, names in forms.items():
            kernel: Any = np.sum([self.kernels[name] for name in names], axis=0, dtype=np.float64)
            # `kernel @ basis` are features whose inner products approximate the kernel.
            squares, vectors = np.linalg.eigh(kernel[self.landmarks])
            positive = squares > _MIN_EIGENVALUE * squares[-1]
            basis = vectors[:, positive] / np.sqrt(squares[positive])
            ridge = fit_best_ridge(kernel[has_score] @ basis, goals)
            coefficients = basis @ ridge.slopes
            weights = {
                name: coefficients
                if name in self.vectors
                else self.scales[name] * (self.linear[name][self.landmarks].T @ coefficients)
                for name in names
            }
            fitted[form] = FormFit(weights, ridge._replace(loo=ridge.loo + offset))
        if self.base_offset is not None:
            zeros = np.zeros_like(goals)
            base_fit = RidgeFit(zeros[:0], zeros[0], np.full(goals.shape[1], -1), zeros + offset)
            fitted[BASE] = FormFit({}, base_fit)
        return fitted

    def build_heads(self, weights: Mapping[str, Floats]) -> dict[str, Any]:
        """Build the heads of a predictor from the weights of each block."""
        parts: dict[str, KernelHead] = {}
        singles = {name: array.astype(np.float32) for name, array in weights.items()}
        for name, vectors in self.vectors.items():
            width = np.array([self.widths[name]], dtype=np.float32)
            parts[PART_OF[name]] = KernelHead(vectors[self.landmarks], width, singles[name])
        return {"pieces": TfidfHead(self.rarity, singles[TF_IDF]), "neighbours": parts}


def choose_form(fits: Mapping[str, FormFit], goals: Floats, target: int) -> str:
    """Choose a form for a target, and return its name.

    The stack is chosen, unless another form's mean squared leave-one-out error is lower by more
    than two standard errors.
    """
    true = goals[:, target]
    errors = {form: (fit.ridge.loo[:, target] - true) ** 2 for form, fit in fits.items()}
    best = min(errors, key=lambda form: errors[form].mean())
    gain = errors[STACK] - errors[best]
    return best if gain.mean() > 2 * gain.std() / np.sqrt(len(gain)) else STACK
