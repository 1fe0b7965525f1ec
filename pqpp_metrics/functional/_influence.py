"""The influence of each query on a measure, without assumptions about the distribution.

The influences have mean 0, and their variance divided by n estimates the variance of the measure
(Hampel, "The Influence Curve and Its Role in Robust Estimation", Journal of the American
Statistical Association 69, 1974).
"""

import math

import numpy as np

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._pairs import PairOrder, centre_to_unit_length
from pqpp_metrics.functional._studentised import get_margin

# With fewer queries, the influence of one cannot be estimated.
LEAST_PAIRS = 4
# A correlation beyond this is 1 or -1 up to rounding.
_LINE = 1 - 1e-14
_PAIRS_AT_ONCE = 65_536  # whose arrays fit into the CPU cache


def get_correlation_interval(
    value: float, influences: Floats, confidence: float
) -> tuple[float, float]:
    """Return the interval of a correlation from the influences on Fisher's z.

    The interval is (NaN, NaN) for a NaN value or too few pairs, and a single point for a
    correlation of 1 or -1, whose z is infinite.
    """
    if math.isnan(value) or len(influences) < LEAST_PAIRS:
        return math.nan, math.nan
    if abs(value) > _LINE:
        return value, value
    z, margin = math.atanh(value), get_margin(influences, confidence)
    return math.tanh(z - margin), math.tanh(z + margin)


def compute_pearson(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return Fisher's z of Pearson's r, and the effect of leaving each pair out.

    Derivatives would miss the effect of a single pair that determines the correlation.

    Args:
        x: Predictions, float64 (..., n).
        y: References, of a shape that broadcasts with that of `x`.

    Returns:
        z (...,), as `to_fisher_z` returns it, and the influences (..., n). A pair's influence is
        NaN if the correlation of the other pairs is undefined; all are 0 if all pairs are on a
        line.
    """
    n = x.shape[-1]
    x, y = centre_to_unit_length(x), centre_to_unit_length(y)
    r, scale = np.einsum("...i,...i->...", x, y)[..., None], n / (n - 1)
    z, is_line = to_fisher_z(r), np.abs(r) > _LINE
    shape = np.broadcast_shapes(x.shape, y.shape)
    influences = x if x.shape == shape else np.empty(shape)  # pair by pair in place
    for start in range(0, n, _PAIRS_AT_ONCE):
        part = np.s_[..., start : start + _PAIRS_AT_ONCE]
        a, b = x[part], y[part]
        a_square, b_square = 1 - scale * a * a, 1 - scale * b * b
        a_square[a_square < 1e-14] = b_square[b_square < 1e-14] = math.nan
        r_without = (r - scale * a * b) / np.sqrt(a_square * b_square)
        # If the other pairs are on a line, their z is infinite: use the derivative of z.
        change = (r - r_without) / np.where(is_line, 1.0, 1 - r * r)
        is_infinite = np.abs(r_without) > _LINE
        change = np.where(is_infinite, change, z - np.arctanh(np.where(is_infinite, 0, r_without)))
        influences[part] = (n - 1) * np.where(is_line, 0.0, change)
    return z[..., 0], influences


def to_fisher_z(r: Floats) -> Floats:
    """Return Fisher's z of correlations, after moving 1 and -1 slightly towards 0."""
    return np.arctanh(np.clip(r, -_LINE, _LINE))


def compute_spearman(x: PairOrder, y: PairOrder) -> tuple[Floats, Floats]:
    """Return Fisher's z of Spearman's rho and each pair's influence, as `compute_pearson` does."""
    n = x.ranks.shape[-1]
    first, second = ((side.ranks - (n + 1) / 2) / n for side in (x, y))
    # A pair also shifts the ranks of the pairs above it.
    on_product = first * second + (x.sum_above(second) + y.sum_above(first)) / n
    on_x = first * first + 2 * x.sum_above(first) / n
    on_y = second * second + 2 * y.sum_above(second) / n
    product, x_square, y_square = (
        (left * right).mean(axis=-1, keepdims=True)
        for left, right in ((first, second), (first, first), (second, second))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = product / np.sqrt(x_square * y_square)
        influence = (on_product - 3 * product) / np.sqrt(x_square * y_square)
        influence -= rho / 2 * (on_x / x_square + on_y / y_square - 6)
    return to_fisher_z(rho)[..., 0], _to_fisher_z_influence(influence, rho)


def compute_kendall(agree: Floats, x: PairOrder, y: PairOrder) -> tuple[Floats, Floats]:
    """Return Fisher's z of Kendall's tau-b and each pair's influence, as `compute_pearson` does.

    `agree` is the output of `sum_agreements`, (..., n).
    """
    n = agree.shape[-1]
    x_differ, y_differ = n - x.sizes, n - y.sizes
    x_all, y_all = (side.sum(axis=-1, keepdims=True) for side in (x_differ, y_differ))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(x_all.astype(np.float64) * y_all)
        tau = agree.sum(axis=-1, keepdims=True) / scale
        shares = x_differ / x_all + y_differ / y_all
        influence = 2 * n * (agree / scale - tau / 2 * shares)
    return to_fisher_z(tau)[..., 0], _to_fisher_z_influence(influence, tau)


def _to_fisher_z_influence(influence, r):
    return influence / np.where(np.abs(r) < 1, 1 - r * r, 1.0)


def compute_smare(x: PairOrder, y: PairOrder) -> tuple[Floats, Floats]:
    """Return the sMARE and each pair's influence on it, in the shapes of `compute_pearson`."""
    n = x.ranks.shape[-1]
    difference = (x.ranks - y.ranks) / n
    side, size = np.sign(difference), np.abs(difference)
    rank_effects, value = x.sum_above(side) - y.sum_above(side), size.mean(axis=-1, keepdims=True)
    return value[..., 0], size - 2 * value + rank_effects / n


def compute_rmse(errors: Floats) -> tuple[Floats, Floats]:
    """Return the RMSE of errors (..., n), and the effect of leaving each error out."""
    n = errors.shape[-1]
    # Divide by the largest error, so that no square overflows or vanishes.
    largest = np.abs(errors).max(axis=-1, keepdims=True)
    squares = (errors / np.where(largest > 0, largest, 1.0)) ** 2
    total = squares.sum(axis=-1, keepdims=True)
    rmse_without = np.sqrt(np.maximum(total - squares, 0.0) / (n - 1))
    value = np.sqrt(total / n)
    with np.errstate(over="ignore"):  # an overflow gives infinity
        return (largest * value)[..., 0], largest * ((n - 1) * (value - rmse_without))


def sum_agreements(x_order: PairOrder, y_order: PairOrder) -> Floats:
    """Return for each i the sum over j of sign(x[i] - x[j]) sign(y[i] - y[j]), float64 (n,)."""
    n, x_ranks, y_ranks = len(x_order.ranks), x_order.ranks, y_order.ranks
    x, y = (2 * x_ranks).astype(np.int64), (2 * y_ranks).astype(np.int64)
    # Sort by x, and ties by descending y, so that no tied pair counts as lower.
    order, positions, lower = np.argsort(x * (2 * n + 1) - y), np.empty((2, n), np.int64), 0 * x
    positions[0, order] = np.arange(n)
    positions[1, np.argsort((y + 1) * n - positions[0])] = np.arange(n)
    lower[order] = _count_lower(positions[1, order])
    # Only one of the four quadrants around a pair is counted; the others, and the ties on their
    # borders, follow from the ranks. Ties in one input are ordered by the other.
    both, reverse = PairOrder(x * (2 * n + 1) + y), PairOrder(y * (2 * n + 1) + x)
    agree = 4 * lower + 2 * (both.ranks + reverse.ranks) - 4 * (x_ranks + y_ranks)
    return agree + x_order.sizes + y_order.sizes - both.sizes + n + 2


def _count_lower(permutation):
    """Return how many lower numbers precede each number in a permutation of 0 to n - 1, (n,)."""
    # Bit by bit from the highest: numbers that agree in all higher bits form a group, in which
    # those with the bit are above those without it.
    n, count, order = len(permutation), np.zeros_like(permutation), np.arange(len(permutation))
    for bit in reversed(range(n.bit_length())):
        start = permutation[order] >> (bit + 1) << (bit + 1)  # of the group
        is_low = (permutation[order] >> bit & 1) == 0
        lows = np.cumsum(is_low) - is_low
        lows -= lows[start]
        count[order] += np.where(is_low, 0, lows)
        highs = np.arange(n) - start - lows + (1 << bit)
        reordered = np.empty_like(order)
        reordered[start + np.where(is_low, lows, highs)] = order
        order = reordered
    return count
