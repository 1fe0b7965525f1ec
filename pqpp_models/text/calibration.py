"""Predictions in the targets' units, with standard deviations and distances.

Trainers call `calibrate_targets` for targets with units, `calibrate_across_sources` for a target
learned from studies with different scales, and `join_calibrations` to combine the results. A
calibration contains units, priors, and standard deviations whose intervals have the nominal
coverage. A target learned from studies has no standard deviation, because no feature that was tried
predicts the size of its errors.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.prompt_text import normalise
from pqpp_datasets.target_columns import is_image_score
from pqpp_models.predictor import Estimates, Predictor
from pqpp_models.prompts import parse_prompts
from pqpp_models.targets import ALIGNMENT, Z90, get_limits
from pqpp_models.text.arrays import Arrays, Floats, Singles, add_prefix, multiply_exactly, to_points
from pqpp_models.text.reading.known_words import KnownWords, is_repetitive
from pqpp_models.text.reading.words import WordTables, compute_error_features

NEAREST = 5
"""The number of nearest reference prompts in a distance, which is one minus the mean cosine."""
SAME = 0.9999
"""The cosine from which a reference prompt counts as the prompt itself."""
_SPREAD = "one deviates extreme distance log_words places number log_letters lettering"
SPREAD = tuple(_SPREAD.split())
"""The columns of `make_deviation_features`, in which the log of a standard deviation is linear."""
CALIBRATION: dict[str, tuple[int, ...]] = {"slope": (), "offset": (), "spread": (len(SPREAD),)}
CALIBRATION |= {"prior": (), "prior_deviation": ()}
"""The arrays of a calibration, and the shape of each array's row; there is one row per target."""

_FACTS = ("data", "training", "evaluation", "alignment_sources")
_MAX_DEVIATE = 3.0
_MAX_PRIOR_RATIO = 2.0
_WORDS, _LETTERS = np.log([2.0, 41.0]), np.log([6.0, 301.0])

Calibration = dict[str, Singles]


@dataclass(eq=False, repr=False, kw_only=True)
class CalibratedPredictor(Predictor):
    """A predictor that estimates its uncertainty, and detects prompts that it cannot read.

    Subclasses implement ``compute_raw_scores`` and set the attributes.

    Attributes:
        calibration: the arrays of `CALIBRATION`.
        known_words: a detector of prompts that are not plain English; None to accept all prompts.
        tables: word counts of the collection of captions.
        details: further entries of the configuration.
    """

    calibration: Mapping[str, Singles]
    known_words: KnownWords | None = None
    tables: WordTables = field(init=False)
    details: dict[str, Any] = field(default_factory=dict)

    supervised = True
    has_uncertainty = True
    read_rows = staticmethod(parse_prompts)
    further_facts: ClassVar[tuple[str, ...]] = ()
    """Attributes of a subclass that its card shows."""

    @cached_property
    def reference_points(self) -> NDArray[Any]:
        """Unit vectors of the training prompts, one per column, for distances."""
        return to_points(vars(self)["references"])

    @abstractmethod
    def compute_raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Singles]:
        """Return the standardised scores of all targets, and the prompts' unit vectors.

        Args:
            prompts: normalised prompts.
        """

    def _find_unread_text(self, text: str) -> str:
        """Return the end of a long text that is not read; empty if the whole text is read."""
        return ""

    def _render_card(self) -> str:
        facts = {name: self.details[name] for name in _FACTS if self.details.get(name)}
        if self.record.fitted_on_train is not None:
            facts["fitted_on_train"] = self.record.fitted_on_train
        facts["reads_english"] = isinstance(self.known_words, KnownWords)
        facts |= {name: getattr(self, name) for name in self.further_facts}
        from pqpp_hub.card import render_card

        return render_card(f"predictors/{self.name}", targets=self.targets, **facts)

    def _estimate(self, rows: list[Any], targets: tuple[str, ...], uncertainty: bool) -> Estimates:
        columns = [self.targets.index(target) for target in targets]
        texts = [prompt.normalised for prompt in rows]
        scores, points = self.compute_raw_scores(texts)
        calibration = {name: self.calibration[name][columns].astype(float) for name in CALIBRATION}
        values = scores[:, columns] * calibration["slope"] + calibration["offset"]
        _, deviations, distance, _, ignored = Estimates.from_values(values)
        if uncertainty:
            distance = measure_distance(points, self.reference_points)
            deviations = compute_deviations(values, texts, distance, calibration)
            ignored = [self._describe_ignored(prompt) for prompt in rows]
        known = np.ones(len(texts))
        if self.known_words is not None:
            garbled = self.known_words.rate_garbled(texts)
            if isinstance(self.known_words, KnownWords):
                for index, (prompt, text) in enumerate(zip(rows, texts, strict=True)):
                    original = prompt.text
                    if len(text) < len(original) / 2 and is_repetitive(normalise(original).split()):
                        garbled[index] = 1.0
            known = np.minimum(self.known_words.rate_known(texts), 1 - garbled)
            # The prediction of a garbled text is below the average of all prompts.
            drop = calibration["prior_deviation"] * np.array([*map(is_image_score, targets)], float)
            calibration["prior"] = calibration["prior"] - garbled[:, None] * drop
        values, deviations = mix_with_prior(values, deviations, known, calibration)
        deviations[:, np.array(targets) == ALIGNMENT] = np.nan
        values = np.clip(values, *get_limits(targets, getattr(self, "limits", None)))
        return Estimates(values, deviations, distance, known == 0, ignored)

    def _describe_ignored(self, prompt: Prompt) -> str:
        text = prompt.normalised
        unread = self.known_words.explain_unread(text) if self.known_words is not None else ""
        return "; ".join(filter(None, (prompt.ignored_text, unread, self._find_unread_text(text))))

    def run_smoke_test(self) -> None:
        """Predict once, to find errors that loading does not reveal."""
        prompts = parse_prompts(["a cat on 2 mats"])
        estimates = self._estimate(prompts, self.targets, uncertainty=True)
        known = np.array(self.targets) != ALIGNMENT
        estimates = estimates._replace(deviations=estimates.deviations[:, known])
        if not all(np.isfinite(array).all() for array in estimates[:-1]):
            raise ValueError("it predicts NaN or infinity")

    def _get_calibration_tensors(self) -> Arrays:
        known = self.known_words.to_tensors() if self.known_words is not None else {}
        return {**add_prefix("calibration.", self.calibration), **known}


def read_calibration(
    config: Mapping[str, Any], tensors: Mapping[str, NDArray], *keys: str, extra: Sequence[str] = ()
) -> dict[str, Any]:
    """Read the fields shared by all `CalibratedPredictor` classes from a checkpoint.

    Args:
        *keys: keys of the configuration to leave out of `details`.
        extra: names of further calibration arrays.
    """
    known = {"predictor_type", "format_version", "targets", "weights_sha256", *keys}
    return {
        "calibration": {name: tensors[f"calibration.{name}"] for name in (*CALIBRATION, *extra)},
        "details": {k: fact for k, fact in config.items() if k not in known},
        "known_words": KnownWords.from_tensors(tensors),
    }


def compute_deviations(
    values: Floats, prompts: Sequence[str], distance: Floats, calibration: Mapping[str, NDArray]
) -> Floats:
    """Return the standard deviations of predictions for plain English prompts.

    Args:
        values: predictions, shape ``(rows, targets)``.
        prompts: normalised prompts.
        distance: the distance of each row to the training prompts.
        calibration: the arrays of `CALIBRATION` for these targets.
    """
    inputs = make_deviation_features(values, prompts, distance, calibration)
    logs = np.einsum("rtk,tk->rt", inputs, np.asarray(calibration["spread"], np.float64))
    upper = _MAX_PRIOR_RATIO * calibration["prior_deviation"]
    return np.minimum(np.exp(np.clip(logs, -12, 12)), upper)


def mix_with_prior(
    values: Floats, deviations: Floats, probability: Floats, calibration: Mapping[str, NDArray]
) -> tuple[Floats, Floats]:
    """Mix each prediction with the prior; return the means and standard deviations of the mixtures.

    ``probability`` is the weight of each prediction; the rest is the weight of the prior.

    >>> prior = {"prior": np.array([1.0]), "prior_deviation": np.array([0.5])}
    >>> rows = np.array([[2.0], [2.0]]), np.array([[0.1], [0.1]])
    >>> [a.ravel().tolist() for a in mix_with_prior(*rows, np.array([1.0, 0.0]), prior)]
    [[2.0, 1.0], [0.1, 0.5]]
    """
    prior, deviation = calibration["prior"], calibration["prior_deviation"]
    share = probability[:, None]
    variance = share * deviations**2 + (1 - share) * deviation**2
    variance += share * (1 - share) * (values - prior) ** 2
    return prior + share * (values - prior), np.sqrt(variance)


def make_deviation_features(
    values: Floats, prompts: Sequence[str], distance: Floats, calibration: Mapping[str, NDArray]
) -> Floats:
    """Return the features that predict standard deviations, ``(rows, targets, len(SPREAD))``.

    They are a constant 1; the prediction minus the prior's mean, in standard deviations of the
    prior, signed and absolute; the distance to the training prompts; log(1 + words); the number of
    spatial words; whether there is a number; log(1 + characters); whether there is text to draw.
    """
    scale = np.maximum(calibration["prior_deviation"], 1e-9)
    deviates = np.clip((values - calibration["prior"]) / scale, -_MAX_DEVIATE, _MAX_DEVIATE)
    words, places, number, letters, lettering = compute_error_features(prompts).T
    words, letters = np.clip(words, *_WORDS), np.clip(letters, *_LETTERS)
    columns = [np.minimum(distance, 1.0), words, places, number, letters, lettering]
    by_row = [np.broadcast_to(column[:, None], deviates.shape) for column in columns]
    return np.stack([np.ones_like(deviates), deviates, np.abs(deviates), *by_row], axis=2)


def measure_distance(vectors: Singles, points: NDArray[Any], exclude_self: bool = False) -> Floats:
    """Return one minus each unit vector's mean cosine to its `NEAREST` nearest references.

    Args:
        vectors: shape ``(rows, size)``.
        points: the references, unit vectors, one per column. If `round_to_grid` has rounded them,
            each distance is independent of the other vectors.
        exclude_self: whether to ignore references that equal the vector.

    >>> measure_distance(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5]
    """
    count = min(NEAREST, points.shape[1])
    cosines = multiply_exactly(vectors, points)
    if exclude_self:
        cosines[cosines >= SAME] = -1
    nearest = np.partition(cosines, -count, axis=1)[:, -count:]
    return (1 - nearest.mean(axis=1)).astype(np.float64)


_COVERAGE = 0.9  # the nominal share of true values within `Z90` deviations

_RIDGE = 10.0
_STEPS = 100
_SEED = 0


def calibrate_targets(
    scores: Floats, targets: Floats, prompts: Sequence[str], distance: Floats
) -> Calibration:
    """Fit a calibration to out-of-fold predictions of targets.

    Args:
        scores: standardised out-of-fold predictions, shape ``(rows, targets)``.
        targets: true values in their units, same shape, without NaN.
        prompts: one prompt per row.
        distance: distance of each prompt to the other training prompts:
            `measure_distance(exclude_self=True)`.

    Returns:
        The arrays of `CALIBRATION`. If a target's scores correlate negatively with its values, the
        prediction is the mean value. Standard deviations are scaled by conformal prediction.
    """
    parts = []
    for score, true in zip(scores.T, targets.T, strict=True):
        mean, deviation = true.mean(), true.std()
        slope, offset = np.polyfit(score, true, 1)
        if not slope > 0:
            slope, offset = 0.0, mean
        part = {"slope": slope, "offset": offset, "prior": mean, "prior_deviation": deviation}
        values = slope * score + offset
        columns = make_deviation_features(values[:, None], prompts, distance, part)[:, 0]
        # The shape of log deviations is fitted by likelihood, their scale by conformal quantile.
        error = np.abs(true - values)
        error = error + 1e-6 * (error.mean() + 1e-12)
        spread = _fit_laplace(columns, error)
        if spread[SPREAD.index("distance")] < 0:  # deviations must not fall with the distance
            spread = _fit_laplace(columns * (np.array(SPREAD) != "distance"), error)
        spread[0] += np.log(find_conformal_quantile(error / np.exp(columns @ spread)) / Z90)
        parts.append({**part, "spread": spread[None]})
    return join_calibrations(*parts)


def calibrate_across_sources(
    scores: Floats, truths: Floats, sources: Sequence[str], level: Floats, own_scores: Floats
) -> Calibration:
    """Fit a calibration of one target to studies with different scales.

    Within each source, true values are converted to normal scores, and predictions are centred. All
    sources have the same weight. One of them, the anchor, sets the scale.

    Args:
        scores: standardised predictions by models that were fitted without the prompt's source.
        truths: true values on their source's scale; higher is better.
        sources: the source of each prompt.
        level: true values of the anchor's prompts in the target's units, NaN for other prompts.
        own_scores: scores by the final predictor, of which only the scale is used.

    Returns:
        The arrays of `CALIBRATION` for one target, with a spread of 0. The mean prediction for the
        anchor's prompts is the mean of ``level``.
    """
    names = np.asarray(sources)
    goal, centred, weight = np.zeros((3, len(names)))
    indices = [np.flatnonzero(names == name) for name in sorted(set(sources))]
    for rows in indices:
        goal[rows] = to_normal_scores(truths[rows])
        centred[rows] = scores[rows] - scores[rows].mean()
        weight[rows] = len(names) / (len(rows) * len(indices))
    normal_slope = max(0.0, float((weight * goal * centred).sum() / (weight * centred**2).sum()))
    known = ~np.isnan(level)
    prior, unit = level[known].mean(), level[known].std()
    slope = normal_slope * unit * (scores.std() / own_scores.std())
    offset = prior - slope * own_scores[known].mean()
    part = {"slope": slope, "offset": offset, "prior": prior, "prior_deviation": unit}
    return join_calibrations({**part, "spread": np.zeros((1, len(SPREAD)))})


def join_calibrations(*parts: Mapping[str, Any]) -> Calibration:
    """Concatenate the calibrations of targets, of which a single one may have plain numbers."""
    columns = {name: [np.atleast_1d(part[name]) for part in parts] for name in CALIBRATION}
    return {name: np.concatenate(column).astype(np.float32) for name, column in columns.items()}


def to_normal_scores(values: Floats) -> Floats:
    """Return the normal scores of values; ties are broken at random, with a fixed seed.

    >>> to_normal_scores(np.array([5.0, 1.0, 3.0])).round(3).tolist()
    [0.967, -0.967, 0.0]
    """
    from statistics import NormalDist

    order = np.lexsort((np.random.default_rng(_SEED).random(len(values)), values))
    quantiles = (np.argsort(order) + 0.5) / len(values)
    return np.array([NormalDist().inv_cdf(share) for share in quantiles.tolist()])


def _fit_laplace(columns: Floats, error: Floats) -> Floats:
    """Fit a log-linear ridge model of the mean absolute error; column 0 must be ones."""
    mean, deviation = columns.mean(axis=0), columns.std(axis=0)
    varying = np.flatnonzero(deviation > 1e-6)
    rows = np.column_stack([np.ones(len(error)), (columns - mean)[:, varying] / deviation[varying]])
    ridge = np.diag([0.0] + [_RIDGE] * len(varying))
    slopes = np.zeros(rows.shape[1])
    slopes[0] = np.log(error.mean())
    for _ in range(_STEPS):
        share = error * np.exp(-np.clip(rows @ slopes, -30, 30))
        gradient = rows.T @ (1 - share) + ridge @ slopes
        step = np.linalg.solve((rows * share[:, None]).T @ rows + ridge, gradient)
        slopes -= step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    spread = np.zeros(columns.shape[1])
    spread[varying] = slopes[1:] / deviation[varying]
    spread[0] = slopes[0] - mean[varying] @ spread[varying]
    return spread


def find_conformal_quantile(ratio: Floats) -> float:
    """Return the value that nine in ten new ratios do not exceed, by conformal prediction.

    >>> find_conformal_quantile(np.arange(1.0, 20.0))
    18.0
    """
    rank = math.ceil(_COVERAGE * (len(ratio) + 1) - 1e-9)
    return float(np.sort(ratio)[min(rank, len(ratio)) - 1])
