"""Predictors whose scores are calibrated: in the targets' units, with deviations and distances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.predictor import Predictor, Uncertain
from pqpp_models.targets import target_limits
from pqpp_models.text.instructions import OutsideModel
from pqpp_models.text.words import WordTables

NEAREST = 5
"""The distance of a prompt is one minus its mean cosine to so many reference prompts."""


class CalibratedPredictor(Predictor):
    """A predictor that knows how sure it is and how far a prompt is from its training.

    A subclass gives ``raw_scores`` and these attributes.

    Attributes:
        calibration: ``slope`` and ``offset`` by target, from scores to units; ``spread`` by target,
            the log deviation as a linear function of what `spread_inputs` returns; ``far``, the
            distance that one in a hundred training prompts exceeds.
        outside: what is done with prompts unlike captions; None does nothing.
        tables: counts of the words of the collection, which `outside` reads.
    """

    calibration: Mapping[str, NDArray[np.float32]]
    outside: OutsideModel | None
    tables: WordTables

    @abstractmethod
    def raw_scores(self, prompts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the standardised scores of all targets, and the distances."""

    def is_far(self, distance: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which distances only one in a hundred training prompts exceeds."""
        return distance > self.calibration["far"][0]

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        return self._measure(rows, targets).values

    def _limits(self, targets: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest value of some targets."""
        return target_limits(targets)

    def _measure(self, prompts: list[str], targets: tuple[str, ...]) -> Uncertain:
        columns = [self.targets.index(target) for target in targets]
        scores, distance = self.raw_scores(prompts)
        values = scores * self.calibration["slope"] + self.calibration["offset"]
        gate = np.zeros(len(prompts), np.float32)
        if self.outside is not None:
            gate, steps = self.outside.steps(prompts, values, self.targets, self.tables)
            values = values + steps
        inputs = spread_inputs(scores[:, columns], distance, gate)
        spread = self.calibration["spread"][columns].astype(np.float64)
        deviations = np.exp(np.clip(np.einsum("rtk,tk->rt", inputs, spread), -6, 1.5))
        limited = np.clip(values[:, columns], *self._limits(targets))
        return Uncertain(limited, deviations, distance)


def distance_to_nearest(
    vectors: NDArray[np.float32], points: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return how far unit vectors are from the nearest of some points.

    Args:
        vectors: shape ``(rows, size)``.
        points: unit vectors too, one a column: shape ``(size, points)``.

    Returns:
        One minus the mean cosine to the `NEAREST` points, one a row.

    >>> distance_to_nearest(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5]
    """
    most = min(NEAREST, points.shape[1])
    near = np.partition(vectors @ points, -most, axis=1)[:, -most:]
    return (1 - near.mean(axis=1)).astype(np.float64)


def spread_inputs(
    scores: NDArray[np.float64], distance: NDArray[np.float64], gate: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return what a deviation depends on: 1, distance, score, its square, and the gate.

    Args:
        scores: shape ``(rows, targets)``; capped at 2 from the middle.
        distance: one a row.
        gate: how much of the outside model there is, one a row.

    Returns:
        An array of shape ``(rows, targets, 5)``.

    >>> spread_inputs(np.array([[3.0]]), np.array([0.5]), np.array([0.0])).tolist()
    [[[1.0, 0.5, 2.0, 4.0, 0.0]]]
    """
    ones = np.ones_like(scores)
    capped = np.clip(scores, -2, 2)
    columns = [ones, ones * distance[:, None], capped, capped**2, ones * gate[:, None]]
    return np.stack(columns, axis=2)
