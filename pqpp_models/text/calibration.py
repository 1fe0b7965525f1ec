"""Calibrated predictions: in the targets' units, with standard deviations and distances.

`pqpp_models.text.conformal` fits the calibration.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import CONFIG
from pqpp_backbones.errors import ModelError
from pqpp_backbones.prompt.reader import read_prompt
from pqpp_datasets.prompt_text import normalise
from pqpp_datasets.target_columns import is_of_images
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor, Uncertain
from pqpp_models.targets import resolve_targets, target_limits
from pqpp_models.text.arrays import Arrays, Floats, Singles, exact_product, prefixed
from pqpp_models.text.reading.known_words import KnownWords, repeats
from pqpp_models.text.reading.words import WordTables, kinds_of_prompts

NEAREST = 5
"""The distance of a prompt is one minus its mean cosine to so many reference prompts."""
SAME = 0.9999
"""A prompt at least so similar to a reference prompt is that prompt itself."""
_SPREAD = "one deviates extreme distance log_words places number log_letters lettering"
SPREAD = tuple(_SPREAD.split())
"""What the log of a deviation is linear in; `spread_columns` tells what they are."""
CALIBRATION: dict[str, tuple[int, ...]] = {"slope": (), "offset": (), "spread": (len(SPREAD),)}
CALIBRATION |= {"prior": (), "prior_deviation": ()}
"""The arrays of a calibration; each has one row a target, of this shape."""

_FACTS = ("data", "training", "evaluation", "own_collection", "alignment_sources")
_MOST_EXTREME = 3.0
_MOST_PRIORS = 2.0
_WORDS, _LETTERS = np.log([2.0, 41.0]), np.log([6.0, 301.0])

Calibration = dict[str, Singles]


@dataclass(eq=False, repr=False, kw_only=True)
class CalibratedPredictor(Predictor):
    """A predictor that knows how sure it is and whether it can read a prompt at all.

    A subclass gives ``raw_scores`` and these attributes.

    Attributes:
        calibration: the arrays of `CALIBRATION`.
        known_words: tells what is plain English; None takes all for that.
        tables: counts of the words of the collection.
        details: what the configuration tells beside: how it was trained and what it scores.
    """

    calibration: Mapping[str, Singles]
    known_words: KnownWords | None = None
    tables: WordTables = field(init=False)
    details: dict[str, Any] = field(default_factory=dict)

    supervised = True

    @property
    @abstractmethod
    def reference_points(self) -> NDArray[Any]:
        """The points of training prompts, of length one and `on_grid`, one a column."""

    @abstractmethod
    def raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Singles]:
        """Return the standardised scores of all targets, and points like `reference_points`.

        Args:
            prompts: what `texts_of` gave of them.
        """

    def ignored_of(self, prompt: str) -> str:
        """Return what was not read of a prompt, as its reader tells it."""
        reading = read_prompt(prompt)
        return "; ".join(filter(None, (reading.told, self._unread(reading.text))))

    def _unread(self, text: str) -> str:
        """Return what is not understood of what is read of a prompt, in words."""
        return self.known_words.told(text) if self.known_words is not None else ""

    def _card(self) -> str:
        facts = {name: self.details[name] for name in _FACTS if self.details.get(name)}
        if self.record.fitted_on_train is not None:
            facts["fitted_on_train"] = self.record.fitted_on_train
        facts["reads_english"] = isinstance(self.known_words, KnownWords)
        facts |= self._further_facts()
        from pqpp_hub.card import render_card

        return render_card(f"predictors/{self.name}", targets=self.targets, **facts)

    def _further_facts(self) -> dict[str, Any]:
        """Return what the card of a subclass tells beside."""
        return {}

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> Floats:
        return self._predict(rows, targets, doubts=False).values

    def _measure(self, rows: list[Any], targets: tuple[str, ...]) -> Uncertain:
        return self._predict(rows, targets, doubts=True)

    def _limits(self, targets: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the lowest and the highest value of some targets."""
        return target_limits(targets)

    def _prior(self, targets: tuple[str, ...]) -> Floats:
        priors = self.calibration["prior"]
        columns = [self.targets.index(target) for target in targets]
        return np.clip(priors[columns].astype(float), *self._limits(targets))

    def _predict(self, prompts: list[str], targets: tuple[str, ...], doubts: bool) -> Uncertain:
        """Return what is predicted; without doubts deviations and distances mean nothing."""
        columns = [self.targets.index(target) for target in targets]
        texts = texts_of(prompts)
        scores, points = self.raw_scores(texts)
        distance = np.zeros(len(texts))
        if doubts:
            distance = distance_to_nearest(points, self.reference_points)
        fitted = {name: self.calibration[name][columns].astype(float) for name in CALIBRATION}
        values = scores[:, columns] * fitted["slope"] + fitted["offset"]
        deviations = np.zeros_like(values)
        if doubts:
            deviations = deviations_of(values, texts, distance, fitted)
        known = np.ones(len(texts))
        if self.known_words is not None:
            garbled = self.known_words.garbled(texts)
            if isinstance(self.known_words, KnownWords):
                for at, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
                    if len(text) < len(prompt) / 2 and repeats(normalise(prompt).split()):
                        garbled[at] = 1.0
            known = np.minimum(self.known_words.weights(texts), 1 - garbled)
            # What stands for a garbled text is worse than the average of all prompts.
            lower = fitted["prior_deviation"] * np.array([*map(is_of_images, targets)], float)
            fitted["prior"] = fitted["prior"] - garbled[:, None] * lower
        mixed = mixed_with_prior(values, deviations, known, fitted)
        uncertain = Uncertain(*mixed, distance, known == 0)
        return uncertain._replace(values=np.clip(uncertain.values, *self._limits(targets)))

    def _try(self) -> None:
        found = self._predict(["a cat on 2 mats"], self.targets, doubts=True)
        if not all(np.isfinite(numbers).all() for numbers in found):
            raise ValueError("what it predicts are no numbers")

    def _calibration_tensors(self) -> Arrays:
        """Return what a checkpoint keeps of calibration and known words, by name."""
        known = self.known_words.tensors() if self.known_words is not None else {}
        return {**prefixed("calibration.", self.calibration), **known}


def texts_of(prompts: Sequence[str]) -> list[str]:
    """Return what a text predictor reads of prompts as they were typed: their contents."""
    readings = [read_prompt(prompt) for prompt in prompts]
    return [reading.text for reading in readings]


def read_targets(folder: Path, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the targets that a configuration lists.

    Raises:
        ModelError: it lists none, or others than targets.
    """
    names = config.get("targets")
    try:
        return resolve_targets(names if isinstance(names, list) else [])
    except PredictorError as error:
        raise ModelError(f"{folder / CONFIG} has no list of targets: {error}") from None


def read_calibrated(
    config: Mapping[str, Any], tensors: Mapping[str, NDArray], *own: str, also: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a checkpoint holds of any `CalibratedPredictor`, as its class takes it.

    Args:
        config: the configuration.
        tensors: the arrays.
        own: keys of the configuration that are the predictor's own; the rest are details.
        also: further arrays of the calibration.
    """
    known = {"predictor_type", "format_version", "targets", "weights_sha256", *own}
    return {
        "calibration": {name: tensors[f"calibration.{name}"] for name in (*CALIBRATION, *also)},
        "details": {k: fact for k, fact in config.items() if k not in known},
        "known_words": KnownWords.from_tensors(tensors),
    }


def deviations_of(
    values: Floats, prompts: Sequence[str], distance: Floats, calibration: Mapping[str, NDArray]
) -> Floats:
    """Return the deviations of predictions, in the targets' units, of prompts in plain English.

    Args:
        values: the predictions, shape ``(rows, targets)``.
        prompts: the prompts, normalised.
        distance: to the training prompts, one a row.
        calibration: the arrays of `CALIBRATION`, of these targets.
    """
    inputs = spread_columns(values, prompts, distance, calibration)
    logs = np.einsum("rtk,tk->rt", inputs, np.asarray(calibration["spread"], np.float64))
    most = _MOST_PRIORS * calibration["prior_deviation"]
    return np.minimum(np.exp(np.clip(logs, -12, 12)), most)


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
    kinds = kinds_of_prompts(prompts)
    kinds[:, 0], kinds[:, 3] = np.clip(kinds[:, 0], *_WORDS), np.clip(kinds[:, 3], *_LETTERS)
    of_rows = (np.minimum(distance, 1.0), *kinds.T)
    ones = np.ones_like(away)
    return np.stack([ones, away, np.abs(away), *(ones * row[:, None] for row in of_rows)], axis=2)


def distance_to_nearest(vectors: Singles, points: NDArray[Any], own: bool = False) -> Floats:
    """Return one minus the mean cosine of each unit vector to the `NEAREST` of some points.

    Args:
        vectors: shape ``(rows, size)``.
        points: unit vectors too, one a column: shape ``(size, points)``; of `on_grid`, if a
            distance must not depend on the vectors beside it.
        own: whether a vector that is one of the points is left out there.

    >>> distance_to_nearest(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5]
    """
    most = min(NEAREST, points.shape[1])
    cosines = exact_product(vectors, points)
    if own:
        cosines[cosines >= SAME] = -1
    near = np.partition(cosines, -most, axis=1)[:, -most:]
    return (1 - near.mean(axis=1)).astype(np.float64)
