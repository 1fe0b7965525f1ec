"""Fitting a ridge head to anybody's prompts and scores: in closed form, without torch.

Rows of one prompt become one row with their mean score. Form and strength of the head are chosen
for each target by leaving prompts out. The figures that are reported are those of whole fits: each
part of the prompts is predicted, by `predict` as it is served, from a fit to the others.
"""

import json
import logging
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.checkpoint import CONFIG
from pqpp_backbones.encoder.normaliser import content
from pqpp_backbones.foreign import field_of
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.names import how_many
from pqpp_files.paths import expanded
from pqpp_metrics.functional.qpp_report import qpp_values
from pqpp_models import registry
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, ID, read_prompts
from pqpp_models.record.record import TrainingRecord
from pqpp_models.targets import Z90, known_range
from pqpp_models.text.arrays import Floats
from pqpp_models.text.ridge.blocks import ReadPrompts, join_readings, read
from pqpp_models.text.ridge.head import Head, target_by_form
from pqpp_models.text.ridge.predictor import ENCODER, RidgePredictor, check_names
from pqpp_models.text.ridge.sentence_encoder import SentenceEncoder

_MEASURES = ("pearson", "kendall", "spearman")


class TrainingPrompts(NamedTuple):
    """Distinct prompts with their scores.

    Attributes:
        reading: what is read of them.
        texts: the prompts, normalised.
        values: shape ``(prompts, targets)``, NaN where there is none.
        far: which are in no plain English.
    """

    reading: ReadPrompts
    texts: list[str]
    values: Floats
    far: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return some of them."""
        texts = [self.texts[row] for row in rows]
        return type(self)(self.reading.take(rows), texts, self.values[rows], self.far[rows])


def cross_validate(
    head: Head,
    prompts: TrainingPrompts,
    as_typed: Sequence[str],
    counted: NDArray[np.bool_],
    folds: int,
    seed: int = 0,
    at_each: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Fit to all parts of the prompts but one, predict that, and compare with its scores.

    Args:
        head: what is fitted.
        prompts: the prompts.
        as_typed: the same as they were typed.
        counted: which of them count; the network has learned the scores of the others.
        folds, seed: how many parts, and of their drawing.
        at_each: what is called after each part.

    Returns:
        ``cross_validation``: by target Pearson's, Kendall's and Spearman's coefficient of what
        `predict` gives, and ``coverage``, the share of true values within the intervals that are
        nominally 90 %. ``forms``: by target Spearman's coefficient of each form that was tried.
    """
    targets, count = list(head.limits), len(prompts.texts)
    part = np.random.default_rng(seed).permutation(count) % folds
    predicted: dict[str, Floats] = {}
    deviations = np.empty((count, len(targets)))
    for number in range(folds):
        there = np.flatnonzero(part == number)
        fitted, _ = head.fit(*prompts.take(np.flatnonzero(part != number)), with_forms=True)
        answer = fitted.predict_with_uncertainty([as_typed[int(row)] for row in there])
        for name, column in zip(fitted.targets, answer.values.T, strict=True):
            predicted.setdefault(name, np.empty(count))[there] = column
        deviations[there] = answer.deviations[:, : len(targets)]
        at_each()
    start = target_by_form(targets[0], "")
    forms = [name.removeprefix(start) for name in predicted if name.startswith(start)]
    result: dict[str, Any] = {"cross_validation": {}, "forms": {}}
    for column, target in enumerate(targets):
        rows = counted & ~np.isnan(prompts.values[:, column])
        true = prompts.values[rows, column]
        near = np.abs(predicted[target][rows] - true) <= Z90 * deviations[rows, column]
        result["cross_validation"][target] = {
            **coefficients(predicted[target][rows], true),
            "coverage": round(float(near.mean()), 4) if len(near) else 0.0,
        }
        result["forms"][target] = {
            form: coefficients(predicted[target_by_form(target, form)][rows], true)["spearman"]
            for form in forms
        }
    return result


def coefficients(predicted: Floats, true: Floats) -> dict[str, float]:
    """Return Pearson's, Kendall's and Spearman's; what is all the same ranks nothing, so 0.

    >>> coefficients(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    {'pearson': 0.0, 'kendall': 0.0, 'spearman': 0.0}
    """
    if len(true) < 2:
        return dict.fromkeys(_MEASURES, 0.0)
    figures = qpp_values(predicted[:, None], true[:, None], _MEASURES)
    return {
        name: round(float(np.nan_to_num(coefficient[0])), 4)
        for name, coefficient in figures.items()
    }


_log = logging.getLogger(__name__)

FEWEST_PROMPTS, MOST_PROMPTS = 20, 30_000
"""How many distinct prompts can be fitted to: the upper limit keeps the memory below 2 GB."""

DEFAULT_ENCODER = "static-train"
"""The build whose network learned no study and nothing of PQPP but its train split."""

_MARGIN = 0.1  # by what share of the observed range predictions may leave it
_CHUNK = 1024


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
        encoder: the `static` on whose network the head stands, or a pretrained sentence encoder
            beside `static-train`, like "sentence-transformers/all-MiniLM-L6-v2": a name or a
            folder. The second needs torch, and is saved with the head. For prompts in other
            languages give a multilingual one.
        base: a target of the network's that the fit begins at, as `alignment`, whose network is
            `static` then: it learns what your scores, of your own generator, differ from it by.
            Worth most with 20 to 200 prompts, which higher scores should have where it is higher.

    Returns:
        The predictor. ``details["training"]`` tells of it: ``form`` what each target keeps, and of
        prompts that were left out ``cross_validation`` and ``forms``, as
        `pqpp_models.text.ridge.fitting.cross_validate` gives them. These are empty where
        the network has learned the scores of all prompts but 19 or fewer.

    Raises:
        PredictorError: shapes don't fit, a score is outside its measure's range, or there are too
            few prompts, or one value alone, for every target, or too many prompts.

    >>> prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
    >>> predictor = fit(prompts, [n / 20 for n in range(20)], ["my_rate"])
    >>> predictor.predict(["9 tan cats", "1 red cat"]).shape
    (2, 1)
    """
    from tqdm.auto import tqdm

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
    network, sentence_encoder = _read_encoder(encoder, base)
    reading = _read_all(network, sentence_encoder, texts, base, progress)
    far = network.answer(texts, uncertainty=True).far
    head = Head(network, sentence_encoder, ranges, base)
    distinct = TrainingPrompts(reading, texts, values, far)
    rows = {COLUMN: prompts, ID: [None] * len(prompts) if ids is None else ids}
    known = _known_texts(network, rows, texts)
    is_measured = len(texts) - known.sum() >= FEWEST_PROMPTS
    parts = 1 + folds * is_measured
    with tqdm(desc="fitting", total=parts, unit="part", disable=not progress) as bar:
        fitted, choice = head.fit(*distinct)
        choice |= {"cross_validation": {}, "forms": {}}
        bar.update()
        if is_measured:
            typed_as = {content(prompt): prompt for prompt in reversed(prompts)}
            as_typed = [typed_as[text] for text in texts]
            counted = (distinct, as_typed, ~known)
            choice |= cross_validate(head, *counted, folds, at_each=bar.update)
    training = {"prompts": len(texts), "sha256": _sha256(texts, values), "folds": folds}
    training |= {"far": int(far.sum()), "known": int(known.sum()), "network": network.called}
    training["encoder"] = None if sentence_encoder is None else sentence_encoder.name
    training["scores"] = dict(zip(names, np.isfinite(values).sum(axis=0).tolist(), strict=True))
    versions = {"numpy": np.__version__, "python": platform.python_version()}
    fitted.details = {"data": data, "training": {**training, **choice, "versions": versions}}
    # The head stands on a network that knows them.
    fitted.record = TrainingRecord(rows=network.record.rows)
    fitted.was_fitted_to(rows, columns)
    return fitted


def _read_encoder(name: str, base: str | None) -> tuple[Any, SentenceEncoder | None]:
    """Return the network that the head stands on, and the sentence encoder, where one is named."""
    network, sentence_encoder = Predictor.from_pretrained(DEFAULT_ENCODER), None
    if name in registry.PREDICTORS or field_of(expanded(name) / CONFIG, "predictor_type"):
        network = Predictor.from_pretrained(name)
        if network.name != ENCODER:
            raise PredictorError(f"`encoder` is {name}, a {network.name}; give a {ENCODER}")
    else:
        sentence_encoder = SentenceEncoder.load(name)
    if base is not None and (name == DEFAULT_ENCODER or sentence_encoder):
        full = Predictor.from_pretrained(ENCODER)
        network = network if base in network.targets else full
    if base is not None and base not in network.targets:
        targets = ", ".join(network.targets)
        raise PredictorError(f"`base` is {base!r}; {network.called} predicts {targets}")
    return network, sentence_encoder


def _known_texts(network: Any, rows: Mapping[str, Any], texts: list[str]) -> NDArray[np.bool_]:
    """Tell which texts the network of a predictor has learned with their scores."""
    if network.record.rows is None:
        return np.zeros(len(texts), dtype=bool)
    learned = network.record.rows.among(rows)
    known = {
        content(prompt) for prompt, is_known in zip(rows[COLUMN], learned, strict=True) if is_known
    }
    return np.array([text in known for text in texts], dtype=bool)


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
    targets: Sequence[str], values: Floats, limits_of: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Return what predictions of each target are kept within; those not to be learned are told."""
    ranges: dict[str, tuple[float, float]] = {}
    left_out: list[PredictorError] = []
    for target, column in zip(targets, values.T, strict=True):
        try:
            ranges[target] = _limits(target, column, limits_of.get(target))
        except _NothingToLearnError as error:
            left_out.append(error)
    if not ranges:
        raise left_out[0]
    for reason in left_out:
        _log.warning("%s; it is left out", reason)
    return ranges


def _limits(target: str, values: Floats, given: tuple[float, float] | None) -> tuple[float, float]:
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
    limits = given or known_range(target)
    if limits is None:
        return low - _MARGIN * (high - low), high + _MARGIN * (high - low)
    if low < limits[0] or high > limits[1]:
        raise PredictorError(
            f"target {target!r} has scores from {low:g} to {high:g}, but its range is "
            f"{limits[0]:g} to {limits[1]:g}; give scores in its own units, or another name"
        )
    return limits


def _read_all(
    network: Any,
    sentence_encoder: SentenceEncoder | None,
    texts: list[str],
    base: str | None,
    progress: bool,
) -> ReadPrompts:
    from tqdm.auto import tqdm

    starts = range(0, len(texts), _CHUNK)
    bar = tqdm(starts, desc="reading prompts", unit=f" x {_CHUNK}", disable=not progress)
    chunks = (texts[at : at + _CHUNK] for at in bar)
    return join_readings([read(network, sentence_encoder, c, base=base) for c in chunks])


def _sha256(texts: list[str], values: Floats) -> str:
    """Return a hash of prompts and scores, in their order; a missing score is null."""
    rows = [[None if np.isnan(score) else score for score in row] for row in values.tolist()]
    return sha256_of_parts([json.dumps([texts, rows])])
