"""Fitting the lexical predictor: kernel ridge on n-grams, solved exactly, then rounded.

Everything is solved in the space of prompts, where the solution is one symmetric system, and then
turned into weights of n-grams. Nothing is drawn at random but the folds, and these from a seed.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.prompts import read_prompts
from pqpp_models.targets import TARGETS, resolve_targets, target_limits
from pqpp_models.text.lexical.features import dense_features, standardise, weighted_entries
from pqpp_models.text.lexical.index import NgramIndex, build_index
from pqpp_models.text.lexical.ngrams import KINDS
from pqpp_models.text.lexical.predictor import LexicalPredictor
from pqpp_models.text.lexical.state import LinearWeights

Floats = NDArray[np.float64]

FEWEST, MOST = 20, 20_000
"""How many prompts can be fitted to: the upper limit is one matrix of 3.2 GB."""


@dataclass(frozen=True)
class Recipe:
    """What is decided before the fit. The defaults were chosen inside PQPP's training split.

    Attributes:
        ridges: the strengths of the ridge to choose from, for each target.
        dense_scale: the weight of the dense features beside the four kinds of n-grams.
        rank_share: how much of what is fitted is a target's Gaussian rank, the rest being its
            value: ranks make Kendall's coefficient larger, values Pearson's.
        mixing_ridge: the strength of the ridge towards not mixing targets in the last step.
        folds: how many parts the choice of the ridge and the last step use.
        seed: draws the folds.
    """

    ridges: tuple[float, ...] = (8.0, 16.0, 30.0)
    dense_scale: float = 0.03
    rank_share: float = 0.5
    mixing_ridge: float = 100.0
    folds: int = 5
    seed: int = 0


@dataclass(frozen=True)
class _Features:
    """The training prompts' features: sparse rows by kind and standardised dense ones."""

    sparse: dict[str, Any]
    dense: Floats
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]


def fit_lexical(
    prompts: Sequence[str],
    scores: ArrayLike,
    targets: Sequence[str] = TARGETS,
    data: str = "not named",
    recipe: Recipe | None = None,
) -> LexicalPredictor:
    """Fit the lexical predictor to prompts with known performance.

    The strength of the ridge is chosen for each target by cross-validation inside these prompts.
    The same input gives the same predictor on every run.

    Args:
        prompts: 20 to 20,000 prompts, as `Predictor.predict` takes them.
        scores: shape ``(prompts, targets)``, in the targets' own units; NaN where a prompt has no
            value, which leaves it out for that target only.
        targets: the targets of the columns.
        data: what the data is, for the configuration and the card.
        recipe: what is decided before the fit; the defaults if left out.

    Returns:
        The predictor, its weights already rounded to the form in which they are saved.

    Raises:
        PredictorError: shapes do not fit, a score is out of its target's range, or there are too
            few or too many prompts.

    >>> prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
    >>> predictor = fit_lexical(prompts, [[n / 20] for n in range(20)], ["mean_rr"])
    >>> predictor.predict(["9 tan cats", "1 red cat"]).shape
    (2, 1)
    """
    recipe = recipe or Recipe()
    names = resolve_targets(targets)
    texts, values = _checked(prompts, scores, names)
    index = build_index(texts)
    features = _features(index, texts)
    kernel = _kernel(features, recipe.dense_scale)
    goals = np.column_stack([_goal(column, recipe.rank_share) for column in values.T])
    ridges, left_out = _choose_ridges(kernel, goals, values, recipe)
    mixing, centre, level = _mixing(left_out, values, recipe.mixing_ridge)
    offsets, duals = _solve_all(kernel, goals, ridges)
    intercept = level + (offsets - centre) @ mixing
    weights = _weights(features, duals @ mixing, recipe.dense_scale, intercept)
    training = {
        "n_prompts": len(texts),
        "n_scores": dict(zip(names, np.isfinite(values).sum(axis=0).tolist(), strict=True)),
        "fingerprint": data_fingerprint(texts, values),
        "ridge": dict(zip(names, ridges.tolist(), strict=True)),
        "recipe": {**asdict(recipe), "ridges": list(recipe.ridges)},
        "versions": _versions(),
    }
    return LexicalPredictor(index, weights, names, {"data": data, "training": training})


def data_fingerprint(prompts: Sequence[str], scores: ArrayLike) -> str:
    """Return the SHA-256 of prompts and scores, in their order, as hexadecimal digits.

    Hashed are, for every row, the prompt's UTF-8 bytes with their length, then all scores as
    little-endian float64, NaN in one form.

    >>> data_fingerprint(["a"], [[0.5]])[:8]
    'a8d064bf'
    """
    digest = hashlib.sha256()
    for prompt in prompts:
        encoded = prompt.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    values = np.asarray(scores, dtype="<f8")
    digest.update(np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes())
    return digest.hexdigest()


def _checked(
    prompts: Sequence[str], scores: ArrayLike, targets: tuple[str, ...]
) -> tuple[list[str], Floats]:
    texts = read_prompts(prompts)
    values = np.array(scores, dtype=np.float64)
    if values.shape != (len(texts), len(targets)):
        raise PredictorError(
            f"`scores` has shape {values.shape}, but {len(texts)} prompts and {len(targets)} "
            f"targets need {(len(texts), len(targets))}"
        )
    if len(texts) > MOST:
        raise PredictorError(f"{len(texts)} prompts are too many to fit to; draw {MOST} of them")
    low, high = target_limits(targets)
    for column, target in enumerate(targets):
        known = values[~np.isnan(values[:, column]), column]
        if len(known) < FEWEST:
            raise PredictorError(
                f"target {target!r} has {len(known)} scores; a fit needs at least {FEWEST}"
            )
        if known.min() < low[column] or known.max() > high[column]:
            raise PredictorError(
                f"target {target!r} has scores from {known.min():g} to {known.max():g}, but its "
                f"range is {low[column]:g} to {high[column]:g}; give scores in its own units"
            )
    return texts, values


def _features(index: NgramIndex, prompts: list[str]) -> _Features:
    from scipy.sparse import csr_array

    encoded = index.encode(prompts)
    sparse = {}
    for kind in KINDS:
        rows, ids, values = weighted_entries(index, kind, encoded.kinds[kind], len(prompts))
        shape = (len(prompts), index.n_weighted(kind))
        sparse[kind] = csr_array((values, (rows, ids)), shape=shape)
    dense = dense_features(index, prompts, encoded, leave_one_out=True)
    measured = ~np.isnan(dense)
    count = np.maximum(measured.sum(axis=0), 1)
    mean = np.where(measured, dense, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(measured, dense - mean, 0.0) ** 2).sum(axis=0) / count)
    # A feature that never varies says nothing: dividing by one keeps it at zero.
    mean, deviation = mean.astype(np.float32), deviation.astype(np.float32)
    deviation[deviation < 1e-6] = 1.0
    return _Features(sparse, standardise(dense, mean, deviation), mean, deviation)


def _kernel(features: _Features, dense_scale: float) -> Floats:
    kernel = dense_scale * (features.dense @ features.dense.T)
    for matrix in features.sparse.values():
        kernel += (matrix @ matrix.T).toarray()
    return kernel


def _goal(values: Floats, rank_share: float) -> Floats:
    """Return what is fitted for one target: standardised, partly its Gaussian rank; NaN stays."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    known = ~np.isnan(values)
    there = values[known]
    spread = there.std() or 1.0
    ranks = ndtri((rankdata(there) - 0.5) / len(there))
    goal = np.full(len(values), np.nan)
    goal[known] = (1 - rank_share) * (there - there.mean()) / spread + rank_share * ranks
    return goal


def _patterns(goals: Floats) -> list[tuple[NDArray[np.bool_], list[int]]]:
    """Group the targets that are known for the same prompts: they share a matrix."""
    groups: dict[bytes, tuple[NDArray[np.bool_], list[int]]] = {}
    for column in range(goals.shape[1]):
        known = ~np.isnan(goals[:, column])
        groups.setdefault(known.tobytes(), (known, []))[1].append(column)
    return list(groups.values())


def _solve(
    kernel: Floats, rows: NDArray[np.bool_], goals: Floats, ridge: float
) -> tuple[Floats, Floats]:
    """Solve ridge regression on some rows; return the offsets and the weights of the rows."""
    from scipy.linalg import cho_factor, cho_solve

    matrix = kernel[np.ix_(rows, rows)]
    matrix.flat[:: len(matrix) + 1] += ridge
    offset = goals[rows].mean(axis=0)
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return offset, cho_solve(factor, goals[rows] - offset, check_finite=False)


def _choose_ridges(
    kernel: Floats, goals: Floats, values: Floats, recipe: Recipe
) -> tuple[Floats, Floats]:
    """Choose each target's ridge by cross-validation; return it and the left-out predictions."""
    n, n_targets = goals.shape
    fold = np.random.default_rng(recipe.seed).permutation(n) % recipe.folds
    predicted = np.zeros((len(recipe.ridges), n, n_targets))
    for part in range(recipe.folds):
        there = fold == part
        for known, columns in _patterns(goals):
            rows = known & ~there
            across = kernel[np.ix_(there, rows)]
            for number, ridge in enumerate(recipe.ridges):
                offset, dual = _solve(kernel, rows, goals[:, columns], ridge)
                predicted[number][np.ix_(there, columns)] = across @ dual + offset
    quality = np.array(
        [
            [_mean_pearson(scores[:, t], values[:, t], fold) for t in range(n_targets)]
            for scores in predicted
        ]
    )
    best = quality.argmax(axis=0)
    left_out = np.column_stack([predicted[best[t], :, t] for t in range(n_targets)])
    return np.array(recipe.ridges)[best], left_out


def _mean_pearson(predicted: Floats, true: Floats, fold: NDArray[np.int64]) -> float:
    """Return the mean over folds of Pearson's coefficient; a constant side counts as 0."""
    known = ~np.isnan(true)
    parts = []
    for part in np.unique(fold):
        rows = known & (fold == part)
        x, y = predicted[rows], true[rows]
        if len(x) < 2:
            continue
        x, y = x - x.mean(), y - y.mean()
        size = np.sqrt((x @ x) * (y @ y))
        parts.append((x @ y) / size if size > 0 else 0.0)
    return float(np.mean(parts)) if parts else 0.0


def _mixing(left_out: Floats, values: Floats, ridge: float) -> tuple[Floats, Floats, Floats]:
    """Fit the last step: from all targets' fitted scores to each target in its own units.

    It calibrates a target, whose scores were shrunk and partly ranks, and lets related targets
    help: a retrieval model's reciprocal rank is noisy, its P@10 says something about it. It is
    fitted to predictions for left-out prompts and pulled towards a target's own score.

    Returns:
        The matrix ``(scores, targets)``, the scores' centres and the targets' means.
    """
    n_targets = left_out.shape[1]
    centre, level = left_out.mean(axis=0), np.zeros(n_targets)
    spread = left_out.std(axis=0)
    spread[spread == 0] = 1.0
    mixing = np.zeros((n_targets, n_targets))
    for target in range(n_targets):
        known = ~np.isnan(values[:, target])
        true = values[known, target]
        level[target] = true.mean()
        scores = (left_out[known] - centre) / spread
        own = np.zeros(n_targets)
        own[target] = spread[target] * true.std()
        rest = true - level[target] - scores @ own
        system = scores.T @ scores + ridge * np.eye(n_targets)
        mixing[:, target] = (own + np.linalg.solve(system, scores.T @ rest)) / spread
    return mixing, centre, level


def _solve_all(kernel: Floats, goals: Floats, ridges: Floats) -> tuple[Floats, Floats]:
    """Solve for every target on all its prompts; prompts without a score have weight zero."""
    offsets, duals = np.zeros(goals.shape[1]), np.zeros(goals.shape)
    for known, columns in _patterns(goals):
        for ridge in np.unique(ridges[columns]):
            same = [column for column in columns if ridges[column] == ridge]
            offset, dual = _solve(kernel, known, goals[:, same], ridge)
            offsets[same] = offset
            duals[np.ix_(known, same)] = dual
    return offsets, duals


def _weights(
    features: _Features, duals: Floats, dense_scale: float, intercept: Floats
) -> LinearWeights:
    """Turn weights of prompts into weights of features, rounded to what is stored."""
    ngrams, scales = {}, {}
    for kind, matrix in features.sparse.items():
        exact = matrix.T @ duals
        largest = np.abs(exact).max(axis=0, initial=0.0)
        scales[kind] = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
        ngrams[kind] = np.rint(exact / scales[kind]).clip(-127, 127).astype(np.int8)
    dense = (dense_scale * features.dense.T @ duals).astype(np.float32)
    single = intercept.astype(np.float32)
    return LinearWeights(single, ngrams, scales, features.mean, features.deviation, dense)


def _versions() -> dict[str, str]:
    import scipy

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
