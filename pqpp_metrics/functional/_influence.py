"""Intervals by how much each query moves a measure, whatever the values' distribution.

The mean of the influences is 0 and their spread that of the measure (Hampel, "The Influence Curve
and Its Role in Robust Estimation", Journal of the American Statistical Association 69, 1974), so
nothing has to be known of how predictions and truth are distributed.
"""

import math

import numpy as np

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._inputs import require_between, require_choice
from pqpp_metrics.functional._pairs import average_ranks, unit_deviations

# How an interval of a QPP measure is made: by influences, or as if the values were normal.
INTERVALS = ("influence", "classic")
# Fewer queries tell nothing about how much one moves the measure.
LEAST_PAIRS = 4
# A correlation beyond this is that of a line, but for rounding.
_LINE = 1 - 1e-14


def checked_confidence(confidence: float, interval: str) -> float:
    """Return the level of an interval; raise for one that is none, and for an unknown way."""
    require_choice("interval", interval, INTERVALS)
    return require_between("confidence", confidence, 0, 1)


def reach(influences: Floats, confidence: float) -> float:
    """Half the length of the interval of a measure with these influences, float64 (n,).

    Student's t. A few queries that move the measure far more than all others tell little about
    their own spread: the degrees of freedom are those of that spread (Satterthwaite, "An
    Approximate Distribution of Estimates of Variance Components", Biometrics Bulletin 2, 1946),
    at most n - 1. Infinite where an influence is infinite or unknown.
    """
    from scipy.special import stdtrit

    n = len(influences)
    if not np.isfinite(influences).all():
        return math.inf
    deviations = influences - influences.mean()
    largest = float(np.abs(deviations).max())
    if largest == 0:
        return 0.0
    squares = (deviations / largest) ** 2
    variance = float(squares.mean())
    excess = float((squares * squares).mean()) / variance**2 - 1
    freedom = min(n - 1, 2 * n / excess) if excess > 0 else n - 1
    quantile = float(stdtrit(freedom, (1 + confidence) / 2))
    return quantile * largest * math.sqrt(variance / (n - 1))


def correlation_interval(
    value: float, influences: Floats, confidence: float
) -> tuple[float, float]:
    """Interval of a correlation on the scale of Fisher's z, from the influences on z.

    (NaN, NaN) for a NaN value or too few pairs. A value of 1 or -1 has an infinite z, and the
    interval is that single point.
    """
    if math.isnan(value) or len(influences) < LEAST_PAIRS:
        return math.nan, math.nan
    if abs(value) > _LINE:
        return value, value
    z, half = math.atanh(value), reach(influences, confidence)
    return math.tanh(z - half), math.tanh(z + half)


def of_pearson(x: Floats, y: Floats) -> Floats:
    """Influence of each pair on Fisher's z of Pearson's r, by leaving the pair out.

    Under long tails a single pair can carry the correlation, which the derivative at the whole
    sample does not see. NaN where the other pairs have no correlation; 0 where all are in a line.
    """
    n = len(x)
    x, y = unit_deviations(x), unit_deviations(y)
    r, lost = float(x @ y), n / (n - 1)
    if abs(r) > _LINE:
        return np.zeros(n)
    x_square, y_square = 1 - lost * x * x, 1 - lost * y * y
    x_square[x_square < 1e-14] = y_square[y_square < 1e-14] = math.nan
    left = (r - lost * x * y) / np.sqrt(x_square * y_square)
    line = np.abs(left) > _LINE  # of the others, whose z is infinite: by the derivative of z
    change = (r - left) / (1 - r * r)
    return (n - 1) * np.where(line, change, math.atanh(r) - np.arctanh(np.where(line, 0, left)))


def of_spearman(x_ranks: Floats, y_ranks: Floats) -> Floats:
    """Influence of each pair on Fisher's z of Spearman's rho, of average ranks (n,)."""
    n = len(x_ranks)
    x, y = (x_ranks - (n + 1) / 2) / n, (y_ranks - (n + 1) / 2) / n
    x_square, y_square, product = float(x @ x) / n, float(y @ y) / n, float(x @ y) / n
    # A pair moves the ranks of the pairs above it, too.
    on_product = x * y + (_sums_above(x, y) + _sums_above(y, x)) / n - 3 * product
    on_x = x * x + 2 * _sums_above(x, x) / n - 3 * x_square
    on_y = y * y + 2 * _sums_above(y, y) / n - 3 * y_square
    rho = product / math.sqrt(x_square * y_square)
    influence = on_product / math.sqrt(x_square * y_square)
    influence -= rho / 2 * (on_x / x_square + on_y / y_square)
    return influence / (1 - rho * rho) if abs(rho) < 1 else influence


def of_kendall(agree: Floats, x_ranks: Floats, y_ranks: Floats) -> Floats:
    """Influence of each pair on Fisher's z of Kendall's tau-b, of average ranks (n,).

    `agree` are the `order_agreements`.
    """
    x_differ, y_differ = (len(ranks) - _sizes(ranks) for ranks in (x_ranks, y_ranks))
    scale = math.sqrt(float(x_differ.sum()) * float(y_differ.sum()))
    tau = float(agree.sum()) / scale
    shares = x_differ / x_differ.sum() + y_differ / y_differ.sum()
    influence = 2 * len(agree) * (agree / scale - tau / 2 * shares)
    return influence / (1 - tau * tau) if abs(tau) < 1 else influence


def of_smare(x_ranks: Floats, y_ranks: Floats) -> Floats:
    """Influence of each pair on sMARE, of average ranks (n,)."""
    n = len(x_ranks)
    difference = (x_ranks - y_ranks) / n
    side = np.sign(difference)
    moved = _sums_above(x_ranks, side) - _sums_above(y_ranks, side)
    return np.abs(difference) - 2 * np.abs(difference).mean() + moved / n


def _sums_above(values, weights):
    """Sum of the weights of all pairs with a higher value, and of half of those with the same."""
    _, group = np.unique(values, return_inverse=True)
    sums = np.bincount(group, weights)
    return (sums.sum() - np.cumsum(sums) + sums / 2)[group]


def _sizes(values):
    """How many have the value that each has."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return counts[group]


def order_agreements(x_ranks: Floats, y_ranks: Floats) -> Floats:
    """For each i the sum over all j of sign(x[i] - x[j]) sign(y[i] - y[j]), float64 (n,)."""
    n = len(x_ranks)
    x, y = (2 * x_ranks).astype(np.int64), (2 * y_ranks).astype(np.int64)
    by_x, by_y = x * (2 * n + 1) + y, y * (2 * n + 1) + x  # ties in one ordered by the other
    below = _below_in_both(np.lexsort((np.arange(n), -y, x)), np.lexsort((-np.arange(n), -x, y)))
    # Of the four quarters around a pair one is counted; the others, and the ties on their
    # borders, follow from the ranks.
    agree = 4 * below + 2 * (average_ranks(by_x) + average_ranks(by_y)) - 4 * (x_ranks + y_ranks)
    return agree + _sizes(x) + _sizes(y) - _sizes(by_x) + n + 2


def _below_in_both(x_order, y_order):
    """How many come before each in two orders at once, int64 (n,), in about n log n steps.

    The places in the first order, taken in the second, are split by their bits from the highest
    on: of those that agree so far, a 0 comes before a 1 in the first order.
    """
    n = len(x_order)
    place, numbers = np.empty(n, np.int64), np.arange(n)
    place[x_order] = numbers
    places, count = place[y_order], np.zeros(n, np.int64)
    for bit in range((n - 1).bit_length() - 1, -1, -1):
        start = places >> (bit + 1) << (bit + 1)  # of those that agree in the higher bits
        high = places >> bit & 1
        zeros = np.concatenate([[0], np.cumsum(1 - high)])
        low_before = zeros[:-1] - zeros[start]
        count[places] += low_before * high
        after = np.where(high, (1 << bit) + numbers - low_before, start + low_before)
        split = np.empty(n, np.int64)
        split[after] = places
        places = split
    return count[place]
