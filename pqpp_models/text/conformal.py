"""Fitting a calibration: units, priors, and deviations whose nominal intervals hold.

A training calls `calibrate_targets` for targets in units of their own, `calibrate_across_sources`
for one that was learned from studies with scales of their own, and joins what both return by
`join_calibrations`.
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pqpp_models.targets import Z90
from pqpp_models.text.arrays import Floats
from pqpp_models.text.calibration import CALIBRATION, SPREAD, Calibration, spread_columns

_COVERED = 0.9  # so large a share of true values is to lie within `Z90` deviations

_RIDGE = 10.0
_STEPS = 100
_SEED = 0


def calibrate_targets(
    scores: Floats, targets: Floats, prompts: Sequence[str], distance: Floats
) -> Calibration:
    """Fit units and deviations to predictions of prompts that were left out.

    Args:
        scores: standardised predictions of prompts by a model that was fitted without them, shape
            ``(rows, targets)``.
        targets: the true values in their units, of the same shape, without NaN.
        prompts: the prompts, one a row.
        distance: of each prompt to the other training prompts: `distance_to_nearest(own=True)`.

    Returns:
        The arrays of `CALIBRATION`. A target whose scores rank prompts the wrong way round is
        predicted by its mean. So many in a hundred errors of the prompts given as a nominal
        interval has lie within 1.645 deviations, with the small-sample step of conformal
        prediction.
    """
    parts = []
    for score, true in zip(scores.T, targets.T, strict=True):
        slope, offset = np.polyfit(score, true, 1)
        if not slope > 0:
            slope, offset = 0.0, true.mean()
        part = _units(slope, offset, true.mean(), true.std())
        values = slope * score + offset
        columns = spread_columns(values[:, None], prompts, distance, part)[:, 0]
        spread = _fit_spread(columns, np.abs(true - values), np.ones(len(true)))
        parts.append({**part, "spread": spread[None]})
    return join_calibrations(*parts)


def calibrate_across_sources(
    scores: Floats,
    truths: Floats,
    sources: Sequence[str],
    prompts: Sequence[str],
    level: Floats,
    own: Floats | None = None,
) -> Calibration:
    """Fit one target that was learned from several studies, each with a scale of its own.

    Errors are those on ranks: true values become normal scores within their source (equal ones in
    a fixed random order), predictions are centred within their source. Every source weighs the
    same. The scale comes from one study, the anchor.

    Args:
        scores: standardised predictions of each prompt by a model that was fitted without the
            prompt's source, shape ``(rows,)``.
        truths: true values, on the scale of their source; higher is better.
        sources: the name of each prompt's source.
        prompts: the prompts, one a row.
        level: true values of the anchor's prompts in the target's units, NaN for all others.
        own: scores of the same prompts by the predictor itself, where those left out are of another
            model that stands in for it: only their scale is used.

    Returns:
        The arrays of `CALIBRATION`, with one row. The average predicted for the anchor's prompts
        is the average of ``level``; a deviation of one is so much of the deviation of ``level``.
    """
    names = np.asarray(sources)
    goal, centred, weight, usual = np.zeros((4, len(names)))
    places = [np.flatnonzero(names == name) for name in sorted(set(sources))]
    for rows in places:
        goal[rows] = normal_scores(truths[rows])
        centred[rows] = scores[rows] - scores[rows].mean()
        weight[rows] = len(names) / (len(rows) * len(places))
    steep = max(0.0, float((weight * goal * centred).sum() / (weight * centred**2).sum()))
    known = ~np.isnan(level)
    prior, unit = level[known].mean(), level[known].std()
    slope = steep * unit
    fitted = _units(slope, prior - slope * scores[known].mean(), prior, unit)
    values = slope * scores + fitted["offset"]
    columns = spread_columns(values[:, None], prompts, np.zeros(len(names)), fitted)[:, 0]
    # Neither the sign nor the distance says anything where scales differ.
    used = np.isin(SPREAD, ("one", "extreme", "log_letters", "places", "lettering"))
    error = np.abs(goal - steep * centred)
    for rows in places:  # how well a source is predicted as a whole is not of the prompts
        usual[rows] = error[rows].mean()
    spread = _fit_spread(columns * used, error, weight, usual)
    spread[0] += np.log(unit)
    if own is not None:
        slope = fitted["slope"] * (scores.std() / own.std())
        fitted |= {"slope": slope, "offset": prior - slope * own[known].mean()}
    return join_calibrations({**fitted, "spread": spread[None]})


def join_calibrations(*parts: Mapping[str, NDArray]) -> Calibration:
    """Return one calibration of the targets of several, in their order."""
    return {
        name: np.concatenate([part[name] for part in parts]).astype(np.float32)
        for name in CALIBRATION
    }


def normal_scores(values: Floats) -> Floats:
    """Return the normal scores of some values' ranks; equal ones are in a fixed random order.

    >>> normal_scores(np.array([5.0, 1.0, 3.0])).round(3).tolist()
    [0.967, -0.967, 0.0]
    """
    order = np.lexsort((np.random.default_rng(_SEED).random(len(values)), values))
    quantiles = (np.argsort(order) + 0.5) / len(values)
    return np.array([NormalDist().inv_cdf(share) for share in quantiles.tolist()])


def _units(*numbers: float) -> dict[str, NDArray]:
    """Return a calibration of one target without its spread."""
    names = ("slope", "offset", "prior", "prior_deviation")
    return {name: np.array([number]) for name, number in zip(names, numbers, strict=True)}


def _fit_spread(
    columns: Floats, error: Floats, weight: Floats, usual: Floats | float = 1.0
) -> Floats:
    """Return coefficients of the log deviation: shape by likelihood, scale by conformal quantile.

    ``usual`` is what errors are divided by for the shape alone.
    """
    error = error + 1e-6 * (error.mean() + 1e-12)
    spread = _laplace(columns, error / usual, weight)
    if spread[SPREAD.index("distance")] < 0:  # deviations never fall with the distance
        kept = np.array(SPREAD) != "distance"
        spread = _laplace(columns * kept, error / usual, weight)
    ratio = error / np.exp(columns @ spread)
    spread[0] += np.log(conformal_quantile(ratio, weight) / Z90)
    return spread


def _laplace(columns: Floats, error: Floats, weight: Floats) -> Floats:
    """Fit the log of the mean absolute error by Newton's method, with a ridge but for the first.

    The first column is ones; constant ones get no coefficient.
    """
    mean = (weight @ columns) / weight.sum()
    deviation = np.sqrt((weight @ (columns - mean) ** 2) / weight.sum())
    used = np.flatnonzero(deviation > 1e-6)
    rows = np.column_stack([np.ones(len(error)), (columns - mean)[:, used] / deviation[used]])
    ridge = np.diag([0.0] + [_RIDGE] * len(used))
    slopes = np.zeros(rows.shape[1])
    slopes[0] = np.log((weight @ error) / weight.sum())
    for _ in range(_STEPS):
        share = weight * error * np.exp(-np.clip(rows @ slopes, -30, 30))
        gradient = rows.T @ (weight - share) + ridge @ slopes
        step = np.linalg.solve((rows * share[:, None]).T @ rows + ridge, gradient)
        slopes -= step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    spread = np.zeros(columns.shape[1])
    spread[used] = slopes[1:] / deviation[used]
    spread[0] = slopes[0] - mean[used] @ spread[used]
    return spread


def conformal_quantile(ratio: Floats, weight: Floats) -> float:
    """Return what nine in ten new ratios don't exceed: number ``ceil(.9 (n + 1))`` of n.

    With weights, the first at which so much of the weight is reached; the largest if none is.

    >>> conformal_quantile(np.arange(1.0, 20.0), np.ones(19))
    18.0
    """
    order = np.argsort(ratio, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    wanted = _COVERED * (len(ratio) + 1) / len(ratio)
    place = int(np.searchsorted(reached, wanted - 1e-9))
    return float(ratio[order][min(place, len(ratio) - 1)])
