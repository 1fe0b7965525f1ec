"""Fitting a ridge head to anybody's prompts and scores: in closed form, in seconds, without torch.

Rows of one prompt become one row with their mean score. The strength of the ridge is chosen for
each target by cross-validation over distinct prompts; so are the figures that are reported.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.hashes import sha256_of_parts
from pqpp_files.names import how_many
from pqpp_metrics.functional.qpp_report import qpp_values
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, ID, read_prompts
from pqpp_models.record.record import TrainingRecord
from pqpp_models.targets import known_range
from pqpp_models.text.calibration import CALIBRATION, distance_to_nearest
from pqpp_models.text.conformal import calibrate_targets
from pqpp_models.text.ridge.features import (
    Floats,
    Standardisation,
    hashed_words,
    measure,
)
from pqpp_models.text.ridge.predictor import ENCODER, SCALE, RidgePredictor, check_names
from pqpp_models.text.ridge.solving import STRENGTHS, cross_validate, solve

FEWEST, MOST = 20, 30_000
"""How many distinct prompts can be fitted to: the upper limit keeps the memory below 2 GB."""
MARGIN = 0.1
"""By what share of the observed range predictions may leave it, where a measure has no range."""

_SEED = 0
_CHUNK = 1024


def fit(
    prompts: Sequence[str],
    scores: ArrayLike,
    targets: Sequence[str],
    data: str = "not named",
    folds: int = 5,
    progress: bool = False,
    ids: Sequence[str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    encoder: str = ENCODER,
) -> RidgePredictor:
    """Fit a predictor to prompts with known scores; the same input gives the same predictor.

    Args:
        prompts: as `Predictor.predict` takes them, 20 to 30,000 distinct ones. Prompts that differ
            only in how they are typed are one prompt with the mean of their scores; blank ones are
            left out.
        scores: shape ``(prompts, targets)``, or ``(prompts,)`` for one target; NaN where a prompt
            has no value, which leaves it out for that target only.
        targets: any names. HBPP (``..._hbpp``) must be in -1 .. 2, P@10, RR and rates
            (``..._p10``, ``..._rr``, ``..._rate``) in 0 .. 1; predictions stay within. Others may
            leave the observed range by a tenth of it.
        data: what the data is, for the configuration and the card.
        folds: parts of the cross-validation.
        progress: show bars on standard error.
        ids: the prompts' ids, where they have any; the record of rows tells them apart by these.
        limits: target to its lowest and highest value, where its name does not say.

        encoder: the `static` on whose network the head stands: a name or a folder. To measure on
            prompts that the shipped one learned, give a build that was trained without them.

    Returns:
        The predictor. ``details["training"]["cross_validation"]`` has Pearson's, Kendall's and
        Spearman's coefficient of each target for prompts that were left out.

    Raises:
        PredictorError: shapes don't fit, a score is outside its measure's range, or there are too
            few or too many prompts.

    >>> prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
    >>> predictor = fit(prompts, [n / 20 for n in range(20)], ["my_rate"])
    >>> predictor.predict(["9 tan cats", "1 red cat"]).shape
    (2, 1)
    """
    names = check_names([targets] if isinstance(targets, str) else list(targets))
    prompts = read_prompts(prompts)
    texts, values = _one_row_a_prompt(prompts, scores, names)
    own = limits or {}
    ranges = [_limits(name, values[:, at], own.get(name)) for at, name in enumerate(names)]
    if not 2 <= folds <= FEWEST:
        raise PredictorError(f"`folds` is {folds}; give 2 to {FEWEST}")
    network = Predictor.from_pretrained(encoder)
    if network.name != ENCODER:
        raise PredictorError(f"`encoder` is {encoder}, a {network.name}; give a {ENCODER}")
    points, blocks = _measured(network, texts, progress)
    standardisation = Standardisation.of(blocks)
    rows = np.hstack([hashed_words(texts), standardisation(np.hstack(blocks))])
    distance = _distances(points)
    head = _Head(len(rows), rows.shape[1], len(names))
    for known, columns in _patterns(values):
        head.fit(rows, values, texts, distance, known, columns, folds, progress)
    told = {"prompts": len(texts), "sha256": _sha256(texts, values), "folds": folds}
    fitted = RidgePredictor(
        network,
        standardisation,
        head.weights,
        head.intercept,
        np.rint(points * SCALE).astype(np.int8),
        head.calibration,
        names,
        ranges,
        {"data": data, "training": told | _training(head, values, names)},
    )
    # The head stands on a network that knows them.
    fitted.record = TrainingRecord(rows=network.record.rows)
    fitted.was_fitted_to({COLUMN: prompts, ID: ids or [None] * len(prompts)}, scores)
    return fitted


class _Head:
    """Fitted weights, one column per target; targets known for the same prompts stand together."""

    def __init__(self, rows: int, columns: int, n: int) -> None:
        self.weights = np.zeros((columns, n), np.float32)
        self.intercept = np.zeros(n, np.float32)
        self.strength = np.zeros(n)
        self.left_out = np.full((rows, n), np.nan)
        self.calibration = {
            name: np.zeros((n, *shape), np.float32) for name, shape in CALIBRATION.items()
        }

    def fit(
        self,
        rows: Floats,
        values: Floats,
        texts: Sequence[str],
        distance: Floats,
        known: NDArray[np.bool_],
        columns: list[int],
        folds: int,
        progress: bool,
    ) -> None:
        rows, values, distance = (
            rows[known],
            values[np.ix_(known, np.array(columns))],
            distance[known],
        )
        goals = (values - values.mean(axis=0)) / values.std(axis=0)
        part = np.random.default_rng(_SEED).permutation(len(rows)) % folds
        best, left_out = cross_validate(rows, goals, part, progress=progress)
        self.left_out[np.ix_(known, np.array(columns))] = left_out
        own = [text for text, one in zip(texts, known, strict=True) if one]
        calibration = calibrate_targets(left_out, values, own, distance)
        slopes, intercepts = solve(rows, goals)
        for place, column in enumerate(columns):
            self.weights[:, column] = slopes[best[place], :, place]
            self.intercept[column] = intercepts[best[place], place]
            self.strength[column] = STRENGTHS[best[place]]
            for name, found in self.calibration.items():
                found[column] = calibration[name][place]


def _one_row_a_prompt(
    prompts: list[str], scores: ArrayLike, targets: Sequence[str]
) -> tuple[list[str], Floats]:
    """Return the distinct prompts that have a score, normalised, and the means of their scores."""
    values = np.array(scores, dtype=np.float64)
    if values.ndim == 1 and len(targets) == 1:
        values = values[:, None]
    if values.shape != (len(prompts), len(targets)):
        raise PredictorError(
            f"`scores` has shape {values.shape}, but {len(prompts)} prompts and {len(targets)} "
            f"targets need {(len(prompts), len(targets))}"
        )
    if np.isinf(values).any():
        raise PredictorError("`scores` holds infinite values; leave such rows out")
    texts = [normalise(prompt) for prompt in prompts]
    scored = np.asarray((~np.isnan(values)).any(axis=1))
    rows = [row for row, text in enumerate(texts) if text and scored[row]]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts[row] for row in rows))}
    if len(places) > MOST:
        raise PredictorError(f"{len(places)} prompts are too many to fit to; draw {MOST} of them")
    at = [places[texts[row]] for row in rows]
    total, count = np.zeros((2, len(places), len(targets)))
    np.add.at(total, at, np.nan_to_num(values[rows]))
    np.add.at(count, at, ~np.isnan(values[rows]))
    return list(places), np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _limits(target: str, values: Floats, told: tuple[float, float] | None) -> tuple[float, float]:
    """Check a target's scores, and return what its predictions are kept within."""
    known = values[~np.isnan(values)]
    if len(known) < FEWEST:
        raise PredictorError(
            f"target {target!r} has scores for {how_many(len(known), 'prompt')}; a fit needs "
            f"{FEWEST} or more"
        )
    low, high = float(known.min()), float(known.max())
    if low == high:
        raise PredictorError(
            f"target {target!r} is {low:g} for every prompt; nothing can be learned"
        )
    limits = told or known_range(target)
    if limits is None:
        return low - MARGIN * (high - low), high + MARGIN * (high - low)
    if low < limits[0] or high > limits[1]:
        raise PredictorError(
            f"target {target!r} has scores from {low:g} to {high:g}, but its range is "
            f"{limits[0]:g} to {limits[1]:g}; give scores in its own units, or another name"
        )
    return limits


def _measured(encoder: Any, texts: list[str], progress: bool) -> tuple[NDArray, list[NDArray]]:
    from tqdm.auto import tqdm

    starts = range(0, len(texts), _CHUNK)
    bar = tqdm(starts, desc="reading prompts", unit=f" x {_CHUNK}", disable=not progress)
    found = [measure(encoder, texts[start : start + _CHUNK]) for start in bar]
    points = np.concatenate([one for one, _ in found])
    return points, [np.concatenate(one) for one in zip(*(b for _, b in found), strict=True)]


def _distances(points: NDArray[np.float32]) -> Floats:
    """Return each training prompt's distance to the others."""
    parts = (points[start : start + _CHUNK] for start in range(0, len(points), _CHUNK))
    return np.concatenate([distance_to_nearest(part, points.T, own=True) for part in parts])


def _patterns(values: Floats) -> Iterator[tuple[NDArray[np.bool_], list[int]]]:
    """Group the targets that are known for the same prompts: they share their matrices."""
    groups: dict[bytes, list[int]] = {}
    for column in range(values.shape[1]):
        groups.setdefault(np.isnan(values[:, column]).tobytes(), []).append(column)
    for columns in groups.values():
        yield ~np.isnan(values[:, columns[0]]), columns


def _training(head: _Head, values: Floats, targets: Sequence[str]) -> dict[str, Any]:
    """Return what the card tells of each target; what is all the same ranks nothing, so 0."""
    found = qpp_values(head.left_out, values, ("pearson", "kendall", "spearman"))
    rows = np.nan_to_num(np.column_stack(list(found.values()))).round(4).tolist()
    figures = [dict(zip(found, row, strict=True)) for row in rows]
    return {
        "scores": dict(zip(targets, np.isfinite(values).sum(axis=0).tolist(), strict=True)),
        "strength": dict(zip(targets, head.strength.tolist(), strict=True)),
        "cross_validation": dict(zip(targets, figures, strict=True)),
        "versions": {"numpy": np.__version__, "python": platform.python_version()},
    }


def _sha256(texts: list[str], values: Floats) -> str:
    """Return a hash of prompts and scores, in their order; a missing score is null."""
    rows = [[None if np.isnan(one) else one for one in row] for row in values.tolist()]
    return sha256_of_parts([json.dumps([texts, rows])])
