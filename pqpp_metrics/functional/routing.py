"""How well scores choose the queries for the stronger, more expensive of two models.

The curve is the one of RouteLLM (Ong et al., arXiv 2406.18665) and of the routing use case of PQPP
(section 1): the mean quality when the share of queries with the highest scores goes to the strong
model and the rest to the weak one. Queries with equal scores are treated as being in random order.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from pqpp_metrics.functional import _inputs, _resampled
from pqpp_metrics.functional._containers import Floats, Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE, merge_ties


def routing_curve(scores: Values, weak: Values, strong: Values) -> dict[str, Floats]:
    """Return the mean quality by the share of queries that go to the strong model.

    Args:
        scores: Need for the strong model, shape (n,), finite; queries with higher scores go to it
            first.
        weak: Quality of the weak model's answers, shape (n,), higher is better, finite.
        strong: Quality of the strong model's answers, in the same units.

    Returns:
        dict: "shares", float64 (points,) from 0 to 1, one point after each distinct score, highest
        first; "qualities", the mean quality there. The curve is linear between points.

    Example:
        >>> curve = routing_curve([3, 1], weak=[0, 1], strong=[2, 1])
        >>> curve["shares"].tolist(), curve["qualities"].tolist()
        ([0.0, 0.5, 1.0], [0.5, 1.5, 1.5])
    """
    scores, weak, strong = _convert_inputs(scores, weak, strong)
    shares, gains = _get_curves(np.ones((1, len(weak))), scores, strong - weak)
    return {"shares": shares[0], "qualities": float(weak.mean()) + gains[0]}


def routing_gain(
    scores: Values,
    weak: Values,
    strong: Values,
    shares: Values = (0.25, 0.5),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the area between `routing_curve` and random routing, in units of the quality.

    Random routing is the straight line from the weak model's mean quality to the strong model's;
    the oracle ranks queries by the true gain of the strong model.

    Args:
        shares: Points of the curve at which to return the quality, each in [0, 1].
        resamples: Number of bootstrap samples of queries for the percentile interval.
        confidence: Level of the interval, between 0 and 1.
        seed: An integer of at least 0.

    Returns:
        dict: "routing_gain", the area, negative if random routing is better; "ci_low", "ci_high";
        "oracle", the oracle's area; "oracle_share", the ratio of the two, NaN if the oracle gains
        nothing; "qualities", one per share; "share_for_80", the least share of the strong model
        that reaches 80% of its total gain, NaN without a gain; "n".

    Example:
        >>> result = routing_gain([3, 2, 1, 0], weak=[0, 1, 1, 1], strong=[2, 2, 1, 1])
        >>> round(result["routing_gain"], 4), result["oracle_share"], result["qualities"]
        (0.2188, 1.0, [1.25, 1.5])
    """
    scores, weak, strong = _convert_inputs(scores, weak, strong)
    shares = _inputs.as_floats("shares", shares, 1)
    _inputs.require_each("shares", shares, (shares >= 0) & (shares <= 1), "must be from 0 to 1")
    gain, counts_once = strong - weak, np.ones((1, len(weak)))
    _, low, high = _resample_measure(
        lambda counts: _get_areas(counts, scores, gain), len(gain), resamples, confidence, seed
    )
    x, y = (curve[0] for curve in _get_curves(counts_once, scores, gain))
    share_for_80 = math.nan
    if y[-1] > 0:
        target = 0.8 * y[-1]
        index = int(np.argmax(y >= target))
        (x0, x1), (y0, y1) = x[index - 1 : index + 1], y[index - 1 : index + 1]
        share_for_80 = float(x0 + (x1 - x0) * (target - y0) / (y1 - y0))
    area, oracle = (float(_get_areas(counts_once, order, gain)[0]) for order in (scores, gain))
    return {
        "routing_gain": area,
        "ci_low": low,
        "ci_high": high,
        "oracle": oracle,
        "oracle_share": area / oracle if oracle > 0 else math.nan,
        "qualities": (weak.mean() + np.interp(shares, x, y)).tolist(),
        "share_for_80": share_for_80,
        "n": len(gain),
    }


def compare_routings(
    scores: Values,
    other_scores: Values,
    weak: Values,
    strong: Values,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, float]:
    """Compare the areas of two routings on the same queries by a paired bootstrap.

    Args:
        scores: Scores of the first routing; arguments that are not listed are as for
            `routing_gain`.
        other_scores: Scores of the second routing.

    Returns:
        dict: "difference", the first area minus the second; "ci_low", "ci_high"; "p_value",
        two-sided: twice the share of resamples on the rarer side of 0, with one added to both
        counts.

    Example:
        >>> result = compare_routings([3, 2, 1, 0], [0, 1, 2, 3], [0, 1, 1, 1], [2, 2, 1, 1])
        >>> result["difference"]
        0.4375
    """
    scores, weak, strong = _convert_inputs(scores, weak, strong)
    other, _, _ = _convert_inputs(other_scores, weak, strong)
    gain = strong - weak

    def get_difference(counts):
        return _get_areas(counts, scores, gain) - _get_areas(counts, other, gain)

    samples, low, high = _resample_measure(get_difference, len(gain), resamples, confidence, seed)
    difference = float(get_difference(np.ones((1, len(gain))))[0])
    n_rarer = min((samples <= 0).sum(), (samples >= 0).sum())
    p = min(1.0, 2 * float(n_rarer + 1) / (len(samples) + 1))
    return {"difference": difference, "ci_low": low, "ci_high": high, "p_value": p}


def _convert_inputs(scores: Values, weak: Values, strong: Values) -> list[Floats]:
    """Return the inputs as float64, with scores that differ only by float noise made equal."""
    scores, *qualities = _inputs.as_same_shape(1, scores=scores, weak=weak, strong=strong)
    for name, values in zip(("weak", "strong"), qualities, strict=True):  # so that sums are finite
        _inputs.require_each(name, values, np.abs(values) < 1e290, "must be below 1e290 in size")
    return [cast(Floats, merge_ties(scores, TIE_TOLERANCE)), *qualities]


def _resample_measure(measure, n, resamples, confidence, seed):
    """Return a measure's values on resampled queries, and the ends of their percentile interval."""
    resamples, seed = _inputs.require_draws(seed, resamples=resamples)
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    draws = _resampled.draw_queries(n, resamples, seed)
    samples = np.concatenate([measure(counts) for counts in draws])
    ends = np.quantile(samples, [(1 - confidence) / 2, (1 + confidence) / 2])
    return samples, *map(float, ends)


def _get_curves(counts: Floats, scores: Floats, gain: Floats) -> tuple[Floats, Floats]:
    """Return each resample's shares and gains after each distinct score, given its query counts."""
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.diff(-scores[order], prepend=-np.inf))
    counts = counts[:, order].astype(np.float64)
    counted = np.add.reduceat(counts, starts, axis=1)
    gained = np.add.reduceat(counts * gain[order], starts, axis=1)
    shares, gains = (np.cumsum(parts, axis=1) / len(gain) for parts in (counted, gained))
    return np.pad(shares, ((0, 0), (1, 0))), np.pad(gains, ((0, 0), (1, 0)))


def _get_areas(counts: Floats, scores: Floats, gain: Floats) -> Floats:
    shares, gains = _get_curves(counts, scores, gain)
    return np.trapezoid(gains, shares, axis=1) - gains[:, -1] / 2
