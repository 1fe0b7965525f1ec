"""Calibrated predictions: in the targets' units, with standard deviations and distances.

`pqpp_models.text.conformal` fits the calibration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_hub.card import render_card
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.predictor import Predictor, Uncertain
from pqpp_models.targets import target_limits
from pqpp_models.text import known_words
from pqpp_models.text.instructions import InstructionModel
from pqpp_models.text.known_words import KnownWords
from pqpp_models.text.words import WordTables, kinds_of_prompts

NEAREST = 5
"""The distance of a prompt is one minus its mean cosine to so many reference prompts."""
SAME = 0.9999
"""A prompt at least so similar to a reference prompt is that prompt itself."""
SPREAD = (
    *("one", "deviates", "extreme", "distance", "log_words", "places", "number"),
    *("log_letters", "lettering"),
)
"""What the log of a deviation is linear in; `spread_columns` tells what they are."""
FEWEST_SPREAD = 7
"""A calibration may lack the last ones."""
CALIBRATION = {
    "slope": (),
    "offset": (),
    "spread": (len(SPREAD),),
    "prior": (),
    "prior_deviation": (),
}
"""The arrays of a calibration; each has one row a target, of this shape."""

_BEFORE = {"slope": (), "offset": (), "spread": (5,)}
_FACTS = ("data", "training", "evaluation", "own_collection", "alignment_sources")
_MOST_EXTREME = 3.0
_MOST_PRIORS = 2.0
_WORDS, _LETTERS = np.log([2.0, 41.0]), np.log([6.0, 301.0])

Floats = NDArray[np.float64]
Calibration = dict[str, NDArray[np.float32]]


class CalibratedPredictor(Predictor):
    """A predictor that knows how sure it is and whether it can read a prompt at all.

    A subclass gives ``raw_scores`` and these attributes.

    Attributes:
        calibration: the arrays of `CALIBRATION`. One from before them has ``far`` instead of a
            prior, the distance that one in a hundred training prompts exceeds.
        known_words: tells what is plain English; None takes all for that.
        instruction_model: what a checkpoint from before did with prompts unlike captions.
        tables: counts of the words of the collection, which `instruction_model` reads.
        details: what the configuration tells beside: how it was trained and what it scores.
    """

    calibration: Mapping[str, NDArray[np.float32]]
    known_words: KnownWords | None = None
    instruction_model: InstructionModel | None = None
    tables: WordTables
    details: dict[str, Any]

    @abstractmethod
    def raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the standardised scores of all targets, and the distances."""

    @property
    def far_means(self) -> str:
        """What `Uncertain.far` means here, in words."""
        if "far" in self.calibration:
            return "farther from the training prompts than 99 in 100 of them are from each other"
        return super().far_means

    def _card(self) -> str:
        facts = {name: self.details[name] for name in _FACTS if self.details.get(name)}
        if self.record.fitted_on_train is not None:
            facts["fitted_on_train"] = self.record.fitted_on_train
        return render_card(f"predictors/{self.name}", targets=self.targets, **facts)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> Floats:
        return self._measure(rows, targets).values

    def _limits(self, targets: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the lowest and the highest value of some targets."""
        return target_limits(targets)

    def _prior(self, targets: tuple[str, ...]) -> Floats:
        told = self.calibration["prior" if "prior" in self.calibration else "offset"]
        columns = [self.targets.index(target) for target in targets]
        return np.clip(told[columns].astype(float), *self._limits(targets))

    def _measure(self, prompts: list[str], targets: tuple[str, ...]) -> Uncertain:
        columns = [self.targets.index(target) for target in targets]
        scores, distance = self.raw_scores(prompts)
        if "far" in self.calibration:
            found = self._measure_as_before(prompts, scores, distance, columns)
        else:
            own = {name: self.calibration[name][columns].astype(float) for name in CALIBRATION}
            values, deviations = predicted(scores[:, columns], prompts, distance, own)
            known = np.ones(len(prompts))
            if self.known_words is not None:
                known = self.known_words.weights(prompts)
            mixed = mixed_with_prior(values, deviations, known, own)
            found = Uncertain(*mixed, distance, known == 0)
        return found._replace(values=np.clip(found.values, *self._limits(targets)))

    def _measure_as_before(
        self, prompts: list[str], scores: Floats, distance: Floats, columns: list[int]
    ) -> Uncertain:
        """Predict by a calibration that has ``far``, as such a checkpoint always did."""
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
        far = distance > self.calibration["far"][0]
        return Uncertain(values[:, columns], deviations, distance, far)

    def _calibration_tensors(self) -> dict[str, NDArray]:
        """Return what a checkpoint keeps of calibration and known words, by name."""
        known = self.known_words.tensors() if self.known_words is not None else {}
        return {**{f"calibration.{name}": one for name, one in self.calibration.items()}, **known}


def calibration_tensors(
    tensors: Mapping[str, NDArray], targets: int
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return types and shapes by name, as `check_tensors` takes them, of what a checkpoint has."""
    before = "calibration.prior" not in tensors
    names = dict(_BEFORE if before else CALIBRATION)
    spread = tensors.get("calibration.spread")
    if not before and spread is not None and spread.ndim > 1:
        names["spread"] = (max(FEWEST_SPREAD, min(len(SPREAD), spread.shape[1])),)
    expected = {f"calibration.{k}": ("float32", (targets, *shape)) for k, shape in names.items()}
    if before:
        return {**expected, "calibration.far": ("float32", (1,))}
    has_words = any(name in tensors for name in known_words.TENSORS)
    return expected | (known_words.TENSORS if has_words else {})


def read_calibration(tensors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return the calibration of a checkpoint whose tensors were checked."""
    names = ("far", *_BEFORE) if "calibration.far" in tensors else CALIBRATION
    return {name: tensors[f"calibration.{name}"] for name in names}


def predicted(
    scores: Floats, prompts: Sequence[str], distance: Floats, calibration: Mapping[str, NDArray]
) -> tuple[Floats, Floats]:
    """Return predictions and deviations in the targets' units, of prompts in plain English.

    Args:
        scores: standardised ones, shape ``(rows, targets)``.
        prompts: the prompts, as typed or normalised.
        distance: to the training prompts, one a row.
        calibration: the arrays of `CALIBRATION`, of these targets.
    """
    values = scores * calibration["slope"] + calibration["offset"]
    inputs = spread_columns(values, prompts, distance, calibration)
    spread = np.asarray(calibration["spread"], np.float64)
    logs = np.einsum("rtk,tk->rt", inputs[:, :, : spread.shape[1]], spread)
    return values, np.minimum(
        np.exp(np.clip(logs, -12, 12)), _MOST_PRIORS * calibration["prior_deviation"]
    )


def mixed_with_prior(
    values: Floats, deviations: Floats, known: Floats, calibration: Mapping[str, NDArray]
) -> tuple[Floats, Floats]:
    """Return mean and deviation of a prediction that holds with some probability, else the prior.

    With ``known`` 1 they are what they were, with 0 the prior's; ``known`` has one number a row.

    >>> prior = {"prior": np.array([1.0]), "prior_deviation": np.array([0.5])}
    >>> rows = np.array([[2.0], [2.0]]), np.array([[0.1], [0.1]])
    >>> [a.ravel().tolist() for a in mixed_with_prior(*rows, np.array([1.0, 0.0]), prior)]
    [[2.0, 1.0], [0.1, 0.5]]
    """
    prior, deviation = calibration["prior"], calibration["prior_deviation"]
    share = known[:, None]
    variance = share * deviations**2 + (1 - share) * deviation**2
    variance += share * (1 - share) * (values - prior) ** 2
    return prior + share * (values - prior), np.sqrt(variance)


def spread_columns(
    values: Floats, prompts: Sequence[str], distance: Floats, calibration: Mapping[str, NDArray]
) -> Floats:
    """Return what deviations depend on, shape ``(rows, targets, len(SPREAD))``.

    One; the prediction's distance from the prior in the prior's deviations, and the same without
    its sign; the distance to the training prompts; the log of the words plus one; how many words
    for places there are; whether there is a number; the log of the characters plus one; whether
    there is text to draw.
    """
    scale = np.maximum(calibration["prior_deviation"], 1e-9)
    away = np.clip((values - calibration["prior"]) / scale, -_MOST_EXTREME, _MOST_EXTREME)
    kinds = kinds_of_prompts([normalise(prompt) for prompt in prompts])
    words, places, number, letters, lettering = kinds.T
    row = (
        *(np.minimum(distance, 1.0), np.clip(words, *_WORDS), places, number),
        *(np.clip(letters, *_LETTERS), lettering),
    )
    ones = np.ones_like(away)
    return np.stack([ones, away, np.abs(away), *(ones * one[:, None] for one in row)], axis=2)


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
