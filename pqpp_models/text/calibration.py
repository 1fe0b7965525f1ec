"""Calibrated predictions: in the targets' units, with standard deviations and distances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_hub.card import render_card
from pqpp_models.predictor import Predictor, Uncertain
from pqpp_models.targets import target_limits
from pqpp_models.text.instructions import InstructionModel
from pqpp_models.text.words import WordTables

NEAREST = 5
"""The distance of a prompt is one minus its mean cosine to so many reference prompts."""
SAME = 0.9999
"""A prompt at least so similar to a reference prompt is that prompt itself."""
CALIBRATION = ("slope", "offset", "spread", "far")

_FACTS = ("data", "training", "evaluation", "own_collection")
_Z90 = 1.6449
_SPREAD_INPUTS = 5
_GATE = _SPREAD_INPUTS - 1


class CalibratedPredictor(Predictor):
    """A predictor that knows how sure it is and how far a prompt is from its training.

    A subclass gives ``raw_scores`` and these attributes.

    Attributes:
        calibration: ``slope`` and ``offset`` by target, from scores to units; ``spread`` by target,
            the log deviation as a linear function of what `spread_inputs` returns; ``far``, the
            distance that one in a hundred training prompts exceeds.
        instruction_model: what is done with prompts unlike captions; None does nothing.
        tables: counts of the words of the collection, which `instruction_model` reads.
        details: what the configuration tells beside: how it was trained and what it scores.
    """

    calibration: Mapping[str, NDArray[np.float32]]
    instruction_model: InstructionModel | None
    tables: WordTables
    details: dict[str, Any]

    @abstractmethod
    def raw_scores(self, prompts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the standardised scores of all targets, and the distances."""

    def is_far(self, distance: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which distances only one in a hundred training prompts exceeds."""
        return distance > self.calibration["far"][0]

    def _card(self) -> str:
        facts = {name: self.details[name] for name in _FACTS if self.details.get(name)}
        if self.record.fitted_on_train is not None:
            facts["fitted_on_train"] = self.record.fitted_on_train
        return render_card(f"predictors/{self.name}", targets=self.targets, **facts)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        return self._measure(rows, targets).values

    def _limits(self, targets: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest value of some targets."""
        return target_limits(targets)

    def _prior(self, targets: tuple[str, ...]) -> NDArray[np.float64]:
        columns = [self.targets.index(target) for target in targets]
        return np.clip(self.calibration["offset"][columns], *self._limits(targets))

    def _measure(self, prompts: list[str], targets: tuple[str, ...]) -> Uncertain:
        columns = [self.targets.index(target) for target in targets]
        scores, distance = self.raw_scores(prompts)
        values = scores * self.calibration["slope"] + self.calibration["offset"]
        gate = np.zeros(len(prompts), np.float32)
        if self.instruction_model is not None:
            gate, added = self.instruction_model.corrections(
                prompts, values, self.targets, self.tables
            )
            values = values + added
        inputs = spread_inputs(scores[:, columns], distance, gate)
        spread = self.calibration["spread"][columns].astype(np.float64)
        deviations = np.exp(np.clip(np.einsum("rtk,tk->rt", inputs, spread), -6, 1.5))
        limited = np.clip(values[:, columns], *self._limits(targets))
        return Uncertain(limited, deviations, distance)


def distance_to_nearest(
    vectors: NDArray[np.float32], points: NDArray[np.float32], own: bool = False
) -> NDArray[np.float64]:
    """Return one minus the mean cosine of each unit vector to the `NEAREST` of some points.

    Args:
        vectors: shape ``(rows, size)``.
        points: unit vectors too, one a column: shape ``(size, points)``.
        own: whether a vector that is one of the points is left out there.

    >>> distance_to_nearest(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5]
    """
    most = min(NEAREST, points.shape[1])
    cosines = vectors @ points
    if own:
        cosines[cosines >= SAME] = -1
    near = np.partition(cosines, -most, axis=1)[:, -most:]
    return (1 - near.mean(axis=1)).astype(np.float64)


def spread_inputs(
    scores: NDArray[np.float64], distance: NDArray[np.float64], gate: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return what a deviation depends on: 1, distance, score, its square, and the gate.

    Scores, of shape ``(rows, targets)``, are capped at 2 from the middle; distance and gate are one
    a row. The result has the shape ``(rows, targets, 5)``.

    >>> spread_inputs(np.array([[3.0]]), np.array([0.5]), np.array([0.0])).tolist()
    [[[1.0, 0.5, 2.0, 4.0, 0.0]]]
    """
    ones = np.ones_like(scores)
    capped = np.clip(scores, -2, 2)
    columns = [ones, ones * distance[:, None], capped, capped**2, ones * gate[:, None]]
    return np.stack(columns, axis=2)


def fit_calibration(
    scores: NDArray[np.float64],
    targets: NDArray[np.float64],
    distance: NDArray[np.float64],
    rates: NDArray[np.float64],
    generation: Sequence[bool],
) -> dict[str, NDArray[np.float32]]:
    """Fit units and deviations to predictions for prompts that were left out.

    Args:
        scores: standardised predictions.
        targets: the true values.
        distance: of each prompt to the other training prompts.
        rates: how often images follow instructions, for how much wider deviations are where the
            gate is open.
        generation: which targets the gate concerns.
    """
    fitted = {"slope": [], "offset": [], "spread": []}
    inputs = spread_inputs(scores, distance, np.zeros(len(scores), np.float32))
    for column in range(targets.shape[1]):
        slope, offset = np.polyfit(scores[:, column], targets[:, column], 1)
        error = np.abs(targets[:, column] - slope * scores[:, column] - offset) + 1e-3
        rows = inputs[:, column, :_GATE]
        spread = _fit_spread(rows, error)
        usual = np.exp((rows @ spread).mean())
        # As far as prompts of one kind could at most differ: images follow them, or they don't.
        most = 3 * np.sqrt((rates * (1 - rates)).mean())
        wider = max(0.0, np.log(most / usual)) if generation[column] else 0.0
        fitted["slope"].append(slope)
        fitted["offset"].append(offset)
        fitted["spread"].append([*spread, wider])
    fitted["far"] = [np.quantile(distance, 0.99)]
    return {name: np.array(values, np.float32) for name, values in fitted.items()}


def _fit_spread(rows: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = np.linalg.lstsq(rows, np.log(error), rcond=None)[0]
    if spread[1] < 0:  # deviations never fall with the distance
        others = np.linalg.lstsq(np.delete(rows, 1, axis=1), np.log(error), rcond=None)[0]
        spread = np.insert(others, 1, 0.0)
    # Ninety in a hundred errors are to lie within 1.645 deviations.
    spread[0] += np.log(np.quantile(error / np.exp(rows @ spread), 0.9) / _Z90)
    return spread
