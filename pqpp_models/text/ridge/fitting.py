"""Fit a ridge predictor to a user's prompts and scores.

Duplicate prompts are merged, and their scores averaged. The form of the head and the ridge strength
are chosen for each target by leave-one-out errors. The reported figures are cross-validated: each
fold is predicted by a model that was fitted to the other folds.
"""

import json
import logging
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.checkpoint import CONFIG
from pqpp_backbones.encoder.normaliser import normalise_prompt
from pqpp_backbones.foreign import read_text_field
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand
from pqpp_files.threads import limit_blas_threads
from pqpp_metrics.functional.qpp_report import qpp_report
from pqpp_models import registry
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, ID, read_prompts
from pqpp_models.record.record import TrainingRecord, find_mean_targets
from pqpp_models.targets import Z90, find_range
from pqpp_models.text.arrays import INT8_SCALE, Floats, iterate_chunks
from pqpp_models.text.calibration import CALIBRATION, SPREAD, calibrate_targets, measure_distance
from pqpp_models.text.ridge.blocks import Features, compute_prompt_features
from pqpp_models.text.ridge.forms import NETWORK, RIDGE_STRENGTHS, FormFit, Kernels, choose_form
from pqpp_models.text.ridge.predictor import ENCODER, RidgePredictor, check_target_names
from pqpp_models.text.saved_encoder import SentenceEncoder

ANY_LANGUAGE_SHARE = 0.2
"""The share of training prompts that are not plain English from which any language is read."""

_MEASURES = ("pearson", "kendall", "spearman")
_CHUNK = 1024


class TrainingPrompts(NamedTuple):
    """Distinct prompts with their scores.

    Attributes:
        texts: normalised prompts.
        values: shape ``(prompts, targets)``, NaN for a missing score.
        out_of_domain: which prompts are not plain English.
    """

    features: Features
    texts: list[str]
    values: Floats
    out_of_domain: NDArray[np.bool_]

    def select_rows(self, rows: NDArray[np.int64]) -> Self:
        """Return the prompts at some indices."""
        texts = [self.texts[row] for row in rows]
        return type(self)(
            self.features.select_rows(rows), texts, self.values[rows], self.out_of_domain[rows]
        )


@dataclass(frozen=True)
class HeadFitter:
    """A trainer of ridge predictors on the features of a frozen network.

    Attributes:
        network: the predictor `static`.
        limits: the lowest and highest value of each target.
        base: the target of `static` whose predictions the fit starts from.
    """

    network: Any
    sentence_encoder: SentenceEncoder | None
    limits: Mapping[str, tuple[float, float]]
    base: str | None = None

    def fit(self, prompts: TrainingPrompts) -> tuple[RidgePredictor, dict[str, Any]]:
        """Fit a predictor to distinct prompts.

        Returns:
            The predictor, and the chosen form and ridge strength of each target.
        """
        features, texts, values, out_of_domain = prompts
        blocks = Kernels(features)
        columns: dict[str, dict[str, Any]] = {}
        choice: dict[str, Any] = {"form": {}, "strength": {}}
        points = features.points
        distances = [
            measure_distance(chunk, points.T, exclude_self=True)
            for chunk in iterate_chunks(points, _CHUNK)
        ]
        distance = np.concatenate(distances)
        # Targets that are known for the same prompts share their kernels.
        unknown, group = np.unique(np.isnan(values), axis=1, return_inverse=True)
        for number, known in enumerate(~unknown.T):
            members = np.flatnonzero(group.ravel() == number)
            scores = values[np.ix_(known, members)]
            deviation = scores.std(axis=0)
            goals = (scores - scores.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
            form_fits = blocks.fit(known, goals)
            known_texts = [texts[row] for row in np.flatnonzero(known)]
            for index, member in enumerate(members):
                target = list(self.limits)[member]
                form = choose_form(form_fits, goals, index)
                choice["form"][target] = form
                strength = int(form_fits[form].ridge.strength[index])
                choice["strength"][target] = RIDGE_STRENGTHS[strength]
                known_rows = scores[:, index], known_texts, distance[known]
                columns[target] = _fit_target(blocks, form_fits[form], index, *known_rows)
        parameters = {
            name: [columns[target][name] for target in self.limits]
            for name in next(iter(columns.values()))
        }
        weights = {name: np.stack(parameters[name], axis=1) for name in blocks.kernels}
        calibration = {name: np.array(parameters[name], np.float32) for name in CALIBRATION}
        intercept = np.array(parameters["intercept"]) - blocks.base_slope * blocks.base_level
        predictor = RidgePredictor(
            self.network,
            blocks.standardisation,
            weights[NETWORK].astype(np.float32),
            intercept.astype(np.float32),
            np.rint(features.points * INT8_SCALE).astype(np.int8),
            self.limits,
            calibration=calibration,
            sentence_encoder=self.sentence_encoder,
            base=self.base,
            base_slope=blocks.base_slope,
            reads_any_language=bool(out_of_domain.mean() >= ANY_LANGUAGE_SHARE),
            **blocks.build_heads(weights),
        )
        predictor.record = TrainingRecord(means=find_mean_targets(list(self.limits), values))
        return predictor, choice


def _fit_target(
    blocks: Kernels, form_fit: FormFit, index: int, true: Floats, texts: list[str], distance: Floats
) -> dict[str, Any]:
    """Return the weights, intercept and calibration for one target, by name."""
    rows = {**blocks.linear, **dict.fromkeys(blocks.vectors, blocks.landmarks[None])}
    column: dict[str, Any] = {name: np.zeros(array.shape[1]) for name, array in rows.items()}
    column |= {name: weights[:, index] for name, weights in form_fit.weights.items()}
    column |= {"intercept": form_fit.ridge.intercept[index]}
    if true.std() == 0:  # possible within a fold
        column |= {name: np.zeros(shape) for name, shape in CALIBRATION.items()}
        return column | dict.fromkeys(("offset", "prior"), true.mean())
    calibration = calibrate_targets(form_fit.ridge.loo[:, [index]], true[:, None], texts, distance)
    # The deviations' shape and scale were fitted to the same errors, which makes them too small.
    calibration["spread"][0, 0] += len(SPREAD) / (2 * len(true))
    return column | {name: numbers[0] for name, numbers in calibration.items()}


def cross_validate(
    head: HeadFitter,
    prompts: TrainingPrompts,
    as_typed: Sequence[str],
    evaluated: NDArray[np.bool_],
    folds: int,
    progress: bool = False,
) -> dict[str, Any]:
    """Cross-validate a predictor, and compare its predictions with the scores.

    For the correlations, the mean score of the training folds is subtracted from each prediction.
    The training mean is low if the left-out fold's scores are high, so without the subtraction, the
    correlation over all folds would be negative for a predictor without skill.

    Args:
        as_typed: the prompts as they were typed.
        evaluated: which prompts to evaluate on; the network was trained on the others' scores.

    Returns:
        For each target, Pearson's, Kendall's and Spearman's coefficients, the 95% interval of
        Spearman's as ``ci_low`` and ``ci_high``, and ``coverage``, the share of scores within the
        90% intervals of the predictions.
    """
    from tqdm.auto import tqdm

    targets, count = list(head.limits), len(prompts.texts)
    fold_ids = np.random.default_rng(0).permutation(count) % folds
    predicted, deviations, means = np.empty((3, count, len(targets)))
    for fold in tqdm(range(folds), "cross-validating", unit="fold", disable=not progress):
        held_out = np.flatnonzero(fold_ids == fold)
        training = prompts.select_rows(np.flatnonzero(fold_ids != fold))
        fitted, _ = head.fit(training)
        estimates = fitted.predict_with_uncertainty([as_typed[int(row)] for row in held_out])
        predicted[held_out], deviations[held_out] = estimates.values, estimates.deviations
        means[held_out] = np.nanmean(training.values, axis=0)
    figures: dict[str, Any] = {}
    for column, target in enumerate(targets):
        rows = evaluated & ~np.isnan(prompts.values[:, column])
        true = prompts.values[rows, column]
        values = predicted[rows, column]
        covered = np.abs(values - true) <= Z90 * deviations[rows, column]
        figures[target] = {
            **correlate(values - means[rows, column], true),
            "coverage": round(float(covered.mean()), 4) if len(covered) else 0.0,
        }
    return figures


def correlate(predicted: Floats, true: Floats) -> dict[str, float]:
    """Return three correlation coefficients and Spearman's interval; undefined values are 0.

    >>> correlate(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    {'pearson': 0.0, 'kendall': 0.0, 'spearman': 0.0, 'ci_low': 0.0, 'ci_high': 0.0}
    """
    if len(true) < 2:
        return dict.fromkeys((*_MEASURES, "ci_low", "ci_high"), 0.0)
    results = qpp_report(predicted, true, measures=_MEASURES)
    low, high = results["spearman_qpp"].interval()
    figures = {name: results[f"{name}_qpp"].statistic for name in _MEASURES}
    figures |= {"ci_low": low, "ci_high": high}
    return {name: round(float(np.nan_to_num(value)), 4) for name, value in figures.items()}


_log = logging.getLogger(__name__)

FEWEST_PROMPTS, MOST_PROMPTS = 20, 30_000
"""The limits on the number of distinct prompts; the upper one keeps memory below 2 GB."""

DEFAULT_ENCODER = "static-train"
"""The build whose network was trained on PQPP's train split and on no study."""

_MARGIN = 0.1  # the share of the observed range by which predictions may exceed it


@limit_blas_threads()
def fit(
    prompts: Sequence[str],
    scores: ArrayLike,
    targets: str | Sequence[str],
    data: str = "not named",
    folds: int = 5,
    progress: bool = False,
    ids: Sequence[str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    encoder: str = DEFAULT_ENCODER,
    base: str | None = None,
) -> RidgePredictor:
    """Fit a ridge predictor to prompts and their scores.

    The same input gives the same predictor.

    Args:
        prompts: 20 to 30,000 distinct prompts, as for `Predictor.predict`. Prompts that are equal
            after normalisation are merged, and their scores averaged; prompts without text are
            skipped.
        scores: shape ``(prompts, targets)``, or ``(prompts,)`` for one target; a prompt with NaN is
            skipped for that target only.
        targets: any names. If there are several, those with fewer than 20 prompts or a single value
            are skipped with a warning. HBPP (``..._hbpp``) must be in -1 .. 2, P@10, RR and rates
            (``..._p10``, ``..._rr``, ``..._rate``) in 0 .. 1, and their predictions are too.
            Predictions of other targets may exceed the observed range by a tenth of it.
        data: a description of the data, for the configuration and the card.
        folds: number of folds of the cross-validation.
        progress: show a bar on standard error.
        ids: the prompts' ids, stored in the record of fitted rows.
        limits: lowest and highest value of each target whose name does not imply them.
        encoder: the `static` whose network is used, or the name or folder of a sentence encoder to
            use with `static-train`, like "sentence-transformers/all-MiniLM-L6-v2". The encoder
            needs torch and is saved with the predictor. For other languages, use a multilingual
            one.
        base: a target of the network to start from, such as `alignment` (with `static`): the fit
            learns the differences between it and your scores. It helps most with 20 to 200 prompts
            whose scores are higher if the base is.

    Returns:
        The predictor. ``details["training"]`` has ``form``, the chosen method of each target, and
        ``cross_validation``, the results on left-out prompts, as returned by
        `pqpp_models.text.ridge.fitting.cross_validate`; empty if the network was trained on all but
        at most 19 of the prompts.

    Raises:
        PredictorError: shapes differ, a score is outside its measure's range, there are too many
            prompts, or each target has too few prompts or a single value.

    >>> prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
    >>> predictor = fit(prompts, [n / 20 for n in range(20)], ["my_rate"])
    >>> predictor.predict(["9 tan cats", "1 red cat"]).shape
    (2, 1)
    """
    names = check_target_names([targets] if isinstance(targets, str) else list(targets))
    prompts = read_prompts(prompts)
    if ids is not None and len(ids) != len(prompts):
        raise PredictorError(f"`ids` must have one id per prompt ({len(prompts)}); got {len(ids)}")
    table = _make_score_table(prompts, scores, names)
    means = table.groupby(level=0, sort=False).mean()  # of the distinct prompts
    means = means.drop("", errors="ignore").dropna(how="all")
    if len(means) > MOST_PROMPTS:
        raise PredictorError(f"at most {MOST_PROMPTS} prompts can be fitted; got {len(means)}")
    ranges = _choose_limits(means, limits or {})
    table = table[list(ranges)]
    means = means[list(ranges)].dropna(how="all")
    texts, values = list(means.index), means.to_numpy()
    if not 2 <= folds <= FEWEST_PROMPTS:
        raise PredictorError(f"`folds` must be from 2 to {FEWEST_PROMPTS}; got {folds}")
    network, sentence_encoder = _load_encoder(encoder, base)
    features = compute_prompt_features(network, sentence_encoder, texts, base)
    out_of_domain = network.predict_with_uncertainty(texts).out_of_domain
    head = HeadFitter(network, sentence_encoder, ranges, base)
    distinct = TrainingPrompts(features, texts, values, out_of_domain)
    rows = {COLUMN: prompts, ID: [None] * len(prompts) if ids is None else ids}
    known = np.zeros(len(texts), dtype=bool)
    if network.record.rows is not None:  # prompts that the network was fitted to
        known = means.index.isin(table.index[network.record.rows.contains(rows)])
    fitted, choice = head.fit(distinct)
    choice["cross_validation"] = {}
    if len(texts) - known.sum() >= FEWEST_PROMPTS:
        originals = dict(zip(reversed(table.index), reversed(prompts), strict=True))
        typed = [originals[text] for text in texts]
        choice["cross_validation"] = cross_validate(head, distinct, typed, ~known, folds, progress)
    # A missing score is null.
    score_rows = [[None if np.isnan(score) else score for score in row] for row in values.tolist()]
    digest = hash_parts([json.dumps([texts, score_rows])])
    training: dict[str, Any] = {"prompts": len(texts), "sha256": digest}
    training |= {"folds": folds, "out_of_domain": int(out_of_domain.sum())}
    training |= {"known": int(known.sum()), "network": network.title}
    training["encoder"] = None if sentence_encoder is None else sentence_encoder.name
    training["scores"] = means.count().to_dict()
    versions = {"numpy": np.__version__, "python": platform.python_version()}
    fitted.details = {"data": data, "training": {**training, **choice, "versions": versions}}
    # The network of the head was fitted to these rows too.
    fitted.record = TrainingRecord(rows=network.record.rows)
    fitted.record_fit(rows, table.to_numpy())
    return fitted


def _load_encoder(name: str, base: str | None) -> tuple[Any, SentenceEncoder | None]:
    """Load the predictor whose network is used, and the sentence encoder if one is named."""
    network, sentence_encoder = Predictor.from_pretrained(DEFAULT_ENCODER), None
    if name in registry.PREDICTORS or read_text_field(expand(name) / CONFIG, "predictor_type"):
        network = Predictor.from_pretrained(name)
        if network.name != ENCODER:
            raise PredictorError(
                f"`encoder` must be a {ENCODER} predictor or a sentence encoder; got {name}"
            )
    else:
        sentence_encoder = SentenceEncoder.load(name)
    uses_default = name == DEFAULT_ENCODER or sentence_encoder is not None
    if base is not None and uses_default and base not in network.targets:
        network = Predictor.from_pretrained(ENCODER)
    if base is not None and base not in network.targets:
        raise PredictorError(f"`base` must be one of {', '.join(network.targets)}; got {base!r}")
    return network, sentence_encoder


def _make_score_table(
    prompts: list[str], scores: ArrayLike, targets: Sequence[str]
) -> pd.DataFrame:
    """Return the scores, one column per target, by normalised prompt."""
    values = np.array(scores, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    shape = (len(prompts), len(targets))
    if values.shape != shape:
        raise PredictorError(f"`scores` must have the shape {shape}; got {values.shape}")
    if np.isinf(values).any():
        raise PredictorError("`scores` contains infinite values; remove those rows")
    texts = pd.Index([normalise_prompt(prompt) for prompt in prompts], dtype=object)
    return pd.DataFrame(values, texts, list(targets))


def _choose_limits(
    means: pd.DataFrame, limits: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Return the limits of the targets that can be fitted, and warn about the others."""
    ranges = {}
    skipped: list[str] = []
    for target in means.columns:
        known = means[target].dropna().to_numpy()
        if len(known) < FEWEST_PROMPTS:
            skipped.append(
                f"target {target!r} needs scores for at least {FEWEST_PROMPTS} prompts; got "
                f"{len(known)}"
            )
        elif known.min() == known.max():
            skipped.append(
                f"target {target!r} is {known[0]:g} for every prompt; choose another target"
            )
        else:
            low, high = float(known.min()), float(known.max())
            margin = _MARGIN * (high - low)
            bounds = limits.get(target) or find_range(target) or (low - margin, high + margin)
            if low < bounds[0] or high > bounds[1]:
                raise PredictorError(
                    f"target {target!r} has scores from {low:g} to {high:g}, but its "
                    f"measure is {bounds[0]:g} to {bounds[1]:g}; rescale them, or rename the target"
                )
            ranges[target] = bounds
    if not ranges:
        raise PredictorError(skipped[0])
    for reason in skipped:
        _log.warning("%s; skipped", reason)
    return ranges
