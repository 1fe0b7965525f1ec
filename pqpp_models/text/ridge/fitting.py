"""Fitting a ridge head to anybody's prompts and scores: in closed form, in seconds, without torch.

Rows of one prompt become one row with their mean score. The strength of the ridge is chosen for
each target by cross-validation over distinct prompts, many strengths at the price of one; so are
the figures that are reported.
"""

import json
import logging
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.encoder.normaliser import content
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.names import how_many
from pqpp_files.options.arguments import typed
from pqpp_metrics.functional.qpp_report import qpp_values
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, ID, read_prompts
from pqpp_models.record.record import TrainingRecord
from pqpp_models.targets import known_range
from pqpp_models.text.arrays import INT8_SCALE, Floats, Singles, chunks
from pqpp_models.text.calibration import CALIBRATION, distance_to_nearest
from pqpp_models.text.conformal import calibrate_targets
from pqpp_models.text.ridge.predictor import (
    ENCODER,
    RidgePredictor,
    Standardisation,
    check_names,
    hashed_words,
    measure,
)

_log = logging.getLogger(__name__)

RIDGE_STRENGTHS = tuple(10.0 ** (step / 4) for step in range(-12, 13))
"""The strengths that are tried: .001 to 1000, four a decade."""


def solve(
    rows: Floats, values: Floats, strengths: Sequence[float] = RIDGE_STRENGTHS
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
    projected = vectors.T @ (values if few else rows.T @ values)
    basis = rows.T @ vectors if few else vectors
    squares = np.maximum(squares, 0)[:, None]
    slopes = np.stack([basis @ (projected / (squares + strength)) for strength in strengths])
    return slopes, level - mean @ slopes


def cross_validate(
    rows: Floats,
    values: Floats,
    part: NDArray[np.int64],
    strengths: Sequence[float] = RIDGE_STRENGTHS,
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
    predicted = np.empty((len(strengths), *values.shape))
    errors = np.empty((len(strengths), len(parts), values.shape[1]))
    for number in tqdm(parts, desc="cross-validation", unit="part", disable=not progress):
        there = part == number
        slopes, intercepts = solve(rows[~there], values[~there], strengths)
        predicted[:, there] = rows[there] @ slopes + intercepts[:, None]
        errors[:, number] = ((predicted[:, there] - values[there]) ** 2).sum(axis=1)
    total = errors.sum(axis=1)
    best = (total[:, None] - errors).argmin(axis=0)[part]
    left_out = np.take_along_axis(predicted, best[None], axis=0)[0]
    return total.argmin(axis=0), left_out


FEWEST_PROMPTS, MOST_PROMPTS = 20, 30_000
"""How many distinct prompts can be fitted to: the upper limit keeps the memory below 2 GB."""

_MARGIN = 0.1  # by what share of the observed range predictions may leave it
_SEED = 0
_CHUNK = 1024


@typed
def fit(
    prompts: Sequence[str],
    scores: ArrayLike,
    targets: str | Sequence[str],
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
        targets: any names; of several, those with fewer than 20 prompts or one value alone are
            left out, with a warning of the log. HBPP (``..._hbpp``) must be in -1 .. 2, P@10, RR
            and rates (``..._p10``, ``..._rr``, ``..._rate``) in 0 .. 1; predictions stay within.
            Others may leave the observed range by a tenth of it.
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
            few prompts, or one value alone, for every target, or too many prompts.

    >>> prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
    >>> predictor = fit(prompts, [n / 20 for n in range(20)], ["my_rate"])
    >>> predictor.predict(["9 tan cats", "1 red cat"]).shape
    (2, 1)
    """
    names = list(check_names([targets] if isinstance(targets, str) else list(targets)))
    prompts = read_prompts(prompts)
    if ids is not None and len(ids) != len(prompts):
        raise PredictorError(f"{len(ids)} ids of {len(prompts)} prompts; give one each")
    columns = _columns(prompts, scores, names)
    _, values = _one_row_a_prompt(prompts, columns)
    ranges = _learnable(names, values, limits or {})
    columns = columns[:, [names.index(name) for name in ranges]]
    names = list(ranges)
    texts, values = _one_row_a_prompt(prompts, columns)
    if not 2 <= folds <= FEWEST_PROMPTS:
        raise PredictorError(f"`folds` is {folds}; give 2 to {FEWEST_PROMPTS}")
    network = Predictor.from_pretrained(encoder)
    if network.name != ENCODER:
        raise PredictorError(f"`encoder` is {encoder}, a {network.name}; give a {ENCODER}")
    points, blocks = _measured(network, texts, progress)
    standardisation = Standardisation.of(blocks)
    rows = np.hstack([hashed_words(texts), standardisation(np.hstack(blocks))])
    head = _fit_head(rows, values, texts, _distances(points), folds, progress)
    training = {"prompts": len(texts), "sha256": _sha256(texts, values), "folds": folds}
    fitted = RidgePredictor(
        network,
        standardisation,
        head["weights"].astype(np.float32),
        head["intercept"].astype(np.float32),
        np.rint(points * INT8_SCALE).astype(np.int8),
        ranges,
        calibration={name: head[name].astype(np.float32) for name in CALIBRATION},
        details={"data": data, "training": training | _training(head, values, names)},
    )
    # The head stands on a network that knows them.
    fitted.record = TrainingRecord(rows=network.record.rows)
    known_ids = [None] * len(prompts) if ids is None else ids
    fitted.was_fitted_to({COLUMN: prompts, ID: known_ids}, columns)
    return fitted


def _fit_head(
    rows: Floats, values: Floats, texts: list[str], distance: Floats, folds: int, progress: bool
) -> dict[str, NDArray]:
    """Return weights, intercepts, strengths, left-out scores and calibration of all targets."""
    targets = values.shape[1]
    head = {name: np.zeros((targets, *shape)) for name, shape in CALIBRATION.items()}
    head["weights"] = np.zeros((rows.shape[1], targets))
    head["intercept"], head["strength"] = np.zeros((2, targets))
    head["left_out"] = np.full(values.shape, np.nan)
    # Targets that are known for the same prompts share their matrices.
    unknown, group = np.unique(np.isnan(values), axis=1, return_inverse=True)
    for number, known in enumerate(~unknown.T):
        columns = np.flatnonzero(group.ravel() == number)
        some, scored = rows[known], values[np.ix_(known, columns)]
        goals = (scored - scored.mean(axis=0)) / scored.std(axis=0)
        part = np.random.default_rng(_SEED).permutation(len(some)) % folds
        best, left_out = cross_validate(some, goals, part, progress=progress)
        slopes, intercepts = solve(some, goals)
        each = np.arange(len(columns))
        head["weights"][:, columns] = slopes[best, :, each].T
        head["intercept"][columns] = intercepts[best, each]
        head["strength"][columns] = np.array(RIDGE_STRENGTHS)[best]
        head["left_out"][np.ix_(known, columns)] = left_out
        known_texts = [texts[row] for row in np.flatnonzero(known)]
        calibration = calibrate_targets(left_out, scored, known_texts, distance[known])
        for name, fitted in calibration.items():
            head[name][columns] = fitted
    return head


def _columns(prompts: list[str], scores: ArrayLike, targets: Sequence[str]) -> Floats:
    """Return scores as numbers, a column a target."""
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PredictorError("`scores` holds no numbers; give one a prompt and target") from None
    if values.ndim == 1 and len(targets) == 1:
        values = values[:, None]
    if values.shape != (len(prompts), len(targets)):
        raise PredictorError(
            f"`scores` has shape {values.shape}, but {len(prompts)} prompts and {len(targets)} "
            f"targets need {(len(prompts), len(targets))}"
        )
    if np.isinf(values).any():
        raise PredictorError("`scores` holds infinite values; leave such rows out")
    return values


def _one_row_a_prompt(prompts: list[str], values: Floats) -> tuple[list[str], Floats]:
    """Return the distinct prompts that have a score, normalised, and the means of their scores."""
    texts = [content(prompt) for prompt in prompts]
    scored = np.asarray((~np.isnan(values)).any(axis=1))
    rows = [row for row, text in enumerate(texts) if text and scored[row]]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts[row] for row in rows))}
    if len(places) > MOST_PROMPTS:
        raise PredictorError(
            f"{len(places)} prompts are too many to fit to; draw {MOST_PROMPTS} of them"
        )
    at = [places[texts[row]] for row in rows]
    total, count = np.zeros((2, len(places), values.shape[1]))
    np.add.at(total, at, np.nan_to_num(values[rows]))
    np.add.at(count, at, ~np.isnan(values[rows]))
    return list(places), np.where(count > 0, total / np.maximum(count, 1), np.nan)


class _NothingToLearnError(PredictorError):
    """A target has too few scores, or one value alone."""


def _learnable(
    targets: Sequence[str], values: Floats, told: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Return what predictions of each target are kept within; those not to be learned are told."""
    ranges: dict[str, tuple[float, float]] = {}
    left_out: list[PredictorError] = []
    for target, column in zip(targets, values.T, strict=True):
        try:
            ranges[target] = _limits(target, column, told.get(target))
        except _NothingToLearnError as error:
            left_out.append(error)
    if not ranges:
        raise left_out[0]
    for reason in left_out:
        _log.warning("%s; it is left out", reason)
    return ranges


def _limits(target: str, values: Floats, told: tuple[float, float] | None) -> tuple[float, float]:
    """Check a target's scores, and return what its predictions are kept within."""
    known = values[~np.isnan(values)]
    if len(known) < FEWEST_PROMPTS:
        raise _NothingToLearnError(
            f"target {target!r} has scores for {how_many(len(known), 'prompt')}; a fit needs "
            f"{FEWEST_PROMPTS} or more"
        )
    low, high = float(known.min()), float(known.max())
    if low == high:
        raise _NothingToLearnError(
            f"target {target!r} is {low:g} for every prompt; nothing can be learned"
        )
    limits = told or known_range(target)
    if limits is None:
        return low - _MARGIN * (high - low), high + _MARGIN * (high - low)
    if low < limits[0] or high > limits[1]:
        raise PredictorError(
            f"target {target!r} has scores from {low:g} to {high:g}, but its range is "
            f"{limits[0]:g} to {limits[1]:g}; give scores in its own units, or another name"
        )
    return limits


def _measured(encoder: Any, texts: list[str], progress: bool) -> tuple[Singles, list[Singles]]:
    from tqdm.auto import tqdm

    starts = range(0, len(texts), _CHUNK)
    bar = tqdm(starts, desc="reading prompts", unit=f" x {_CHUNK}", disable=not progress)
    chunks = [measure(encoder, texts[start : start + _CHUNK]) for start in bar]
    blocks = zip(*(blocks for _, blocks in chunks), strict=True)
    return np.concatenate([points for points, _ in chunks]), [np.concatenate(b) for b in blocks]


def _distances(points: Singles) -> Floats:
    """Return each training prompt's distance to the others."""
    parts = [distance_to_nearest(part, points.T, own=True) for part in chunks(points, _CHUNK)]
    return np.concatenate(parts)


def _training(head: dict[str, NDArray], values: Floats, targets: Sequence[str]) -> dict[str, Any]:
    """Return what the card tells of each target; what is all the same ranks nothing, so 0."""
    figures = qpp_values(head["left_out"], values, ("pearson", "kendall", "spearman"))
    rows = np.nan_to_num(np.column_stack(list(figures.values()))).round(4).tolist()
    columns = {
        "scores": np.isfinite(values).sum(axis=0).tolist(),
        "strength": head["strength"].tolist(),
        "cross_validation": [dict(zip(figures, row, strict=True)) for row in rows],
    }
    return {
        **{name: dict(zip(targets, column, strict=True)) for name, column in columns.items()},
        "versions": {"numpy": np.__version__, "python": platform.python_version()},
    }


def _sha256(texts: list[str], values: Floats) -> str:
    """Return a hash of prompts and scores, in their order; a missing score is null."""
    rows = [[None if np.isnan(score) else score for score in row] for row in values.tolist()]
    return sha256_of_parts([json.dumps([texts, rows])])
