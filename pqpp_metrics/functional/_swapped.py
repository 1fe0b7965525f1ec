"""The influences of queries on the QPP measures of two predictors, after random permutations.

In each permutation, the two predictions for a query are kept (1) or exchanged (0). A measure is a
value and its influences, on the scale of `_influence`. All arrays may have leading axes, with one
sample per entry.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import _influence
from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._pairs import PairOrder, centre_to_unit_length, merge_ties, standardise
from pqpp_metrics.functional._resampled import get_signs
from pqpp_metrics.functional._studentised import (
    LONG_TAILED,
    StandardError,
    bound_difference,
    get_distances,
    get_p_value,
    get_standard_error,
    get_tail_length,
)
from pqpp_metrics.functional.qpp_report import OF_RANKS

# With fewer queries, every rule rejects too often for equally good predictors with long tails.
LEAST_QUERIES = 100
# If the tail length of the better predictor's errors exceeds the other's by more than this, a
# sample underestimates the largest errors. Chosen for at most 8% false rejections at n = 100 and
# 200, among runs that have a p-value.
_LONGER = 0.05
# Columns of a matrix of all pairs that are built at once.
_COLUMNS = 512

OF_SQUARES = ("pearson", "spearman", "rmse")
"""Measures in which large errors count more than by their size."""

Measured = tuple[Floats, Floats]
"""A measure's values (..., swaps) and the influences on them (..., swaps, n)."""


def explain_missing_p(statistic: str, a: Floats, b: Floats, y: Floats, influences: Floats) -> str:
    """Return why a difference has no p-value; empty if it has one.

    Args:
        statistic: A key of `QPP_MEASURES`.
        a: The first predictor's predictions, (..., n). Leading axes are pairs of predictors; more
            than half of the pairs must have longer tails for this to be the reason.
        b: The second predictor's predictions, of a shape that broadcasts with that of `a`.
        y: References, (n,).
        influences: The queries' influences on the difference, (n,).
    """
    if statistic not in OF_SQUARES:
        return ""
    if len(y) < LEAST_QUERIES:
        return f"fewer than {LEAST_QUERIES} queries are too few to judge long tails; use kendall"
    if has_longer_tails(statistic, a, b, y).mean() <= 0.5:
        return ""
    squares = np.sort(influences * influences)
    reason = f"three queries carry {squares[-3:].sum() / squares.sum():.0%} of the variance"
    return f"{reason}, and the better predictor's errors have longer tails; use kendall"


def has_longer_tails(statistic: str, a: Floats, b: Floats, y: Floats) -> NDArray[np.bool_]:
    """Return whether the predictor with the better value has longer error tails, bool (...,)."""
    if statistic == "rmse":
        errors = [a - y, b - y]
    else:
        if statistic == "spearman":
            a, b, y = (PairOrder(side).ranks for side in (a, b, y))
        a, b, y = map(centre_to_unit_length, (a, b, y))
        errors = [side - (side * y).sum(axis=-1, keepdims=True) * y for side in (a, b)]
    size, other = (_influence.compute_rmse(side)[0] for side in errors)
    first, second = map(centre_to_unit_length, errors)
    shared = (first * second).sum(axis=-1, keepdims=True)
    longer = get_tail_length(first - shared * second) - get_tail_length(second - shared * first)
    return np.where(size < other, longer, -longer) > _LONGER


def to_common_scale(
    statistic: str, x: Floats, other: Floats, tie_tolerance: float = 0.0
) -> tuple[Floats, Floats]:
    """Return two predictors' values (..., n) on a common scale, for `statistic`.

    Values become deviations from the median, divided by the mean absolute deviation, so that a swap
    does not mix units; for rank measures, both predictors are then ranked together. If each
    predictor were ranked separately, neighbours that two similar predictors order differently would
    tie in half of the swaps, and the difference would look too large. With a `tie_tolerance`,
    values must be of a single sample, (n,).
    """
    if statistic == "rmse":
        return x, other
    scores = np.concatenate([standardise(x), standardise(other)], axis=-1)
    if statistic != "pearson":
        scores = PairOrder(merge_ties(scores, tie_tolerance)).ranks
    n = x.shape[-1]
    return scores[..., :n], scores[..., n:]


def draw_swaps(n: int, permutations: int, seed: int, at_once: int) -> Iterator[NDArray[np.bool_]]:
    """Yield batches of random permutations, (swaps, n): True keeps the predictions for a query.

    The first row of the first batch keeps all predictions, so it is the data.
    """
    generator = np.random.default_rng(seed)
    step = max(1, at_once // n)
    for start in range(0, permutations + 1, step):
        swaps = generator.integers(0, 2, (min(step, permutations + 1 - start), n), dtype=np.int8)
        if not start:
            swaps[0] = 1
        yield swaps.astype(bool)


@dataclass(frozen=True)
class PredictorComparison:
    """The comparison of two predictors in each of several samples.

    `statistic` is a key of `QPP_MEASURES`; `values`, float64 (2, ...), and `influences`, (2, ...,
    n), are on the scale of `_influence`; `spread` is the standard error of the difference.
    """

    statistic: str
    values: Floats
    influences: Floats
    spread: StandardError

    @classmethod
    def from_swaps(
        cls, statistic: str, swaps: NDArray[np.bool_], a: Floats, b: Floats, y: Floats
    ) -> "PredictorComparison":
        """Compare both predictors after each swap; arguments as for `measure_after_swaps`."""
        sides = measure_after_swaps(statistic, swaps, a, b, y)
        values, influences = (np.stack(pair) for pair in zip(*sides, strict=True))
        spread = get_standard_error(influences[0] - influences[1])
        return cls(statistic, values, influences, spread)

    def get_p_values(self) -> Floats:
        """Return the p-value of each sample's difference, (...,); 1 if it is undefined."""
        difference = self.values[0] - self.values[1]
        return np.nan_to_num(get_p_value(difference, self.spread, self._weight), nan=1.0)

    @property
    def _weight(self) -> float:
        """The factor of the skewness: 0 for ranks, which have no long tails."""
        return 0.0 if self.statistic in OF_RANKS else LONG_TAILED

    def interval(self, tail: float) -> tuple[float, float]:
        """Return the lowest and highest difference whose p-value is `tail`, for a single sample."""
        below, above = (d.item() for d in get_distances(tail, self.spread, self._weight))
        values, influences = self.values[:, 0], self.influences[:, 0]
        if self.statistic != "smare":
            scale = np.exp if self.statistic == "rmse" else np.tanh
            return bound_difference(values, influences, below, above, scale)
        difference = float(values[0] - values[1])
        return difference - below, difference + above


def measure_after_swaps(
    statistic: str, swaps: NDArray[np.bool_], a: Floats, b: Floats, y: Floats
) -> list[Measured]:
    """Measure both predictors after each swap.

    Args:
        statistic: A key of `QPP_MEASURES`.
        swaps: Whether the predictions for each query are kept (else they are exchanged), bool (...,
            swaps, n).
        a: The first predictor's predictions, as returned by `to_common_scale`, (..., n).
        b: The second predictor's predictions, as `a`.
        y: References, (..., n).
    """
    first, second, y = a[..., None, :], b[..., None, :], y[..., None, :]
    sides = np.where(swaps, first, second), np.where(swaps, second, first)
    if statistic == "rmse":
        return [_compute_log_rmse(side - y) for side in sides]
    if statistic == "pearson":
        return [_influence.compute_pearson(side, y) for side in sides]
    # Twice an average rank is an integer, and short integers are sorted faster.
    short: type[np.signedinteger] = np.int16 if 4 * y.shape[-1] < 2**15 else np.int32
    orders = [PairOrder((2 * side).astype(short)) for side in sides]
    truth = PairOrder(y)
    if statistic == "kendall":
        agree = _compute_agreements(swaps, a, b, y[..., 0, :])
        pairs = zip(agree, orders, strict=True)
        return [_influence.compute_kendall(*pair, truth) for pair in pairs]
    compute = _influence.compute_smare if statistic == "smare" else _influence.compute_spearman
    return [compute(order, truth) for order in orders]


def _compute_log_rmse(errors):
    """Return the logarithm of the RMSE, and each query's influence on it."""
    value, influences = _influence.compute_rmse(errors)
    value = np.maximum(value, np.finfo(float).tiny)
    return np.log(value), influences / value[..., None]


def _compute_agreements(swaps, a, b, y):
    """Return `sum_agreements` of both predictors with y after each swap, (..., swaps, n) each."""
    # One product of matrices is for the queries that keep their predictions, one for the others.
    # Sums of signs stay far below 2**24, up to which float32 contains each integer.
    keep, n = swaps.astype(np.float32), y.shape[-1]
    totals = np.zeros((2, 2, *keep.shape), np.float32)
    for start in range(0, n, _COLUMNS):
        part = slice(start, start + _COLUMNS)
        order = get_signs(y, y[..., part])
        for index, values in enumerate((a, b)):
            # For the first predictor: other queries' own predictions if kept, else exchanged ones.
            with_a, with_b = (get_signs(side, values[..., part]) * order for side in (a, b))
            sums = keep @ (with_a - with_b)
            totals[0, index][..., part] = sums + with_b.sum(axis=-2, keepdims=True)
            totals[1, index][..., part] = with_a.sum(axis=-2, keepdims=True) - sums
    first = np.where(swaps, totals[0, 0], totals[0, 1])
    second = np.where(swaps, totals[1, 1], totals[1, 0])
    return first.astype(np.float64), second.astype(np.float64)


def get_rank_p_value(tails: Floats) -> float:
    """Return the share of tails below the first; tails equal to it, itself included, count half."""
    same = np.abs(tails - tails[0]) <= 1e-9 * tails[0]
    return (float((tails[~same] < tails[0]).sum()) + float(same.sum()) / 2) / len(tails)
