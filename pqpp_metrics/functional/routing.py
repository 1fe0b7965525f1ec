"""How well scores tell which queries should go to the better, dearer one of two models.

The curve is the one of RouteLLM (Ong et al., arXiv 2406.18665) and of the routing use case of PQPP
(section 1): the mean quality when the share of queries with the highest scores goes to the strong
model and the rest to the weak one. Queries of equal score count as in a random order among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_metrics.functional._inputs import (
    finite_numpy,
    require_between,
    require_draws,
    require_int,
    require_same_shape,
)
from pqpp_metrics.functional._means import draws_of_queries
from pqpp_metrics.functional._statistics import TIE_TOLERANCE, merge_ties
from pqpp_metrics.functional._types import Floats, Values


def routing_curve(scores: Values, weak: Values, strong: Values) -> dict[str, Floats]:
    """Mean quality against the share of queries that the strong model gets.

    Args:
        scores: How much a query needs the strong model, shape (n,), higher is more, finite.
        weak: Quality of the weak model's answers, shape (n,), higher is better, finite.
        strong: Quality of the strong model's answers, in the same units.

    Returns:
        dict: "shares", float64 (points,) from 0 to 1, a point behind each distinct score from the
        highest; "qualities", the mean quality there. Between points the curve is straight.

    Example:
        >>> curve = routing_curve([3, 1], weak=[0, 1], strong=[2, 1])
        >>> curve["shares"].tolist(), curve["qualities"].tolist()
        ([0.0, 0.5, 1.0], [0.5, 1.5, 1.5])
    """
    scores, weak, strong = _sides(scores, weak, strong)
    shares, gains = _curves(np.ones((1, len(weak))), scores, strong - weak)
    return {"shares": shares[0], "qualities": float(weak.mean()) + gains[0]}


def routing_gain(
    scores: Values,
    weak: Values,
    strong: Values,
    shares: Sequence[float] = (0.25, 0.5),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """The area between the curve of `routing_curve` and random routing, in units of the quality.

    Random routing is the straight line from the weak model's mean to the strong one's, the oracle
    ranks queries by what the strong model really gains.

    Args:
        scores: As for `routing_curve`.
        weak: As for `routing_curve`.
        strong: As for `routing_curve`.
        shares: Where on the curve the quality is told, each in [0, 1].
        resamples: Of queries, drawn with replacement, for the percentile interval.
        confidence: Of the interval, between 0 and 1.
        seed: An integer of at least 0.

    Returns:
        dict: "routing_gain", the area, negative where random routing is better; "ci_low",
        "ci_high"; "oracle", the oracle's area; "oracle_share", the ratio of the two, NaN where the
        oracle gains nothing; "qualities", one a share; "share_for_80", the least share of the
        strong model that brings 80 % of what it gains for all, NaN where it gains nothing; "n".

    Example:
        >>> found = routing_gain([3, 2, 1, 0], weak=[0, 1, 1, 1], strong=[2, 2, 1, 1])
        >>> round(found["routing_gain"], 4), found["oracle_share"], found["qualities"]
        (0.2188, 1.0, [1.25, 1.5])
    """
    scores, weak, strong = _sides(scores, weak, strong)
    resamples = require_draws("resamples", resamples)
    confidence = require_between("confidence", confidence, 0, 1)
    seed = require_int("seed", seed, least=0)
    gain = strong - weak
    whole = np.ones((1, len(gain)))
    area = float(_areas(whole, scores, gain)[0])
    oracle = float(_areas(whole, gain, gain)[0])
    drawn = np.concatenate(
        [_areas(counts, scores, gain) for counts in draws_of_queries(len(gain), resamples, seed)]
    )
    tail = (1 - confidence) / 2
    low, high = (float(q) for q in np.quantile(drawn, [tail, 1 - tail]))
    x, y = (one[0] for one in _curves(whole, scores, gain))
    return {
        "routing_gain": area,
        "ci_low": low,
        "ci_high": high,
        "oracle": oracle,
        "oracle_share": area / oracle if oracle > 0 else math.nan,
        "qualities": [float(weak.mean() + np.interp(share, x, y)) for share in shares],
        "share_for_80": _first_share(x, y, 0.8),
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
    """Paired bootstrap of the difference of two routings' areas on the same queries.

    Args:
        scores: Of the first routing, as for `routing_curve`.
        other_scores: Of the second.
        weak: As for `routing_curve`.
        strong: As for `routing_curve`.
        resamples: As for `routing_gain`.
        confidence: As for `routing_gain`.
        seed: As for `routing_gain`.

    Returns:
        dict: "difference", the first area minus the second; "ci_low", "ci_high"; "p_value",
        two-sided: twice the share of resamples on the lesser side of 0, counting one more of both.

    Example:
        >>> found = compare_routings([3, 2, 1, 0], [0, 1, 2, 3], [0, 1, 1, 1], [2, 2, 1, 1])
        >>> found["difference"]
        0.4375
    """
    scores, weak, strong = _sides(scores, weak, strong)
    other, _, _ = _sides(other_scores, weak, strong)
    resamples = require_draws("resamples", resamples)
    confidence = require_between("confidence", confidence, 0, 1)
    seed = require_int("seed", seed, least=0)
    gain = strong - weak

    def difference(counts):
        return _areas(counts, scores, gain) - _areas(counts, other, gain)

    drawn = np.concatenate(
        [difference(counts) for counts in draws_of_queries(len(gain), resamples, seed)]
    )
    tail = (1 - confidence) / 2
    low, high = (float(q) for q in np.quantile(drawn, [tail, 1 - tail]))
    lesser = min((drawn <= 0).sum(), (drawn >= 0).sum())
    return {
        "difference": float(difference(np.ones((1, len(gain))))[0]),
        "ci_low": low,
        "ci_high": high,
        "p_value": min(1.0, 2 * float(lesser + 1) / (len(drawn) + 1)),
    }


def _sides(scores: Values, weak: Values, strong: Values) -> tuple[Floats, Floats, Floats]:
    """Return the three as float64; scores that differ by float noise only are equal."""
    scores = finite_numpy("scores", scores, ndim=1)
    weak, strong = finite_numpy("weak", weak, ndim=1), finite_numpy("strong", strong, ndim=1)
    require_same_shape(scores=scores, weak=weak, strong=strong)
    return merge_ties(scores, TIE_TOLERANCE), weak, strong


def _curves(counts: Floats, scores: Floats, gain: Floats) -> tuple[Floats, Floats]:
    """Return shares and gains, (resamples, points) each, behind each distinct score.

    `counts` says how often each query was drawn, (resamples, n).
    """
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.diff(-scores[order], prepend=-np.inf))
    counts = counts[:, order].astype(np.float64)
    drawn = np.add.reduceat(counts, starts, axis=1)
    gained = np.add.reduceat(counts * gain[order], starts, axis=1)
    both = [np.cumsum(one, axis=1) / len(gain) for one in (drawn, gained)]
    shares, gains = (np.pad(one, ((0, 0), (1, 0))) for one in both)
    return shares, gains


def _areas(counts: Floats, scores: Floats, gain: Floats) -> Floats:
    """Return the area over random routing of each resample."""
    shares, gains = _curves(counts, scores, gain)
    return np.trapezoid(gains, shares, axis=1) - gains[:, -1] / 2


def _first_share(shares: Floats, gains: Floats, part: float) -> float:
    """Return the least share at which a curve has a part of its gain."""
    wanted = part * gains[-1]
    if gains[-1] <= 0:
        return math.nan
    at = int(np.argmax(gains >= wanted))
    (x0, x1), (y0, y1) = shares[at - 1 : at + 1], gains[at - 1 : at + 1]
    return float(x0 + (x1 - x0) * (wanted - y0) / (y1 - y0))
