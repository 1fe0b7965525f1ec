"""Sums and sums of products as whole numbers: they do not depend on how the data are parted.

Each float is a whole number of 2 ** -1126. So sums of batches, or of what several processes hold,
add up to those of the whole to the last digit, whatever came first; their memory does not grow with
the data, and nothing overflows, vanishes or cancels.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from pqpp_metrics.functional._containers import Floats

Sums: TypeAlias = Counter[str]
"""Sums of numbers, named after their factors, one letter each, in units of `unit_of`.

"" is how many rows there are.
"""

# No digit of a float is below 2 ** -_PLACES.
_PLACES = 1126
# Rows and digits of a slice: sums of products of two stay below 2 ** 53, where floats are exact.
_ROWS, _DIGITS = 8192, 19
_LARGEST_POWER = 900  # of 2, by which floats may be multiplied in one step


def unit_of(factors: int) -> int:
    """Return how often the unit of a sum of products of so many factors goes into 1."""
    return 1 << _PLACES * factors


def sums_of(**columns: Floats) -> Sums:
    """Return the sums of finite columns, float64 (n,), and of products of each two."""
    sums: Sums = Counter()
    for start in range(0, len(next(iter(columns.values()))), _ROWS):
        part = {name: values[start : start + _ROWS] for name, values in columns.items()}
        rows = [("", 0, np.ones_like(part[name])) for name in itertools.islice(part, 1)]
        rows += [(name, *piece) for name, values in part.items() for piece in _slices(values)]
        table = np.stack([values for *_, values in rows])
        products = (table @ table.T).tolist()
        for (i, (name, place, _)), (j, (other, other_place, _)) in itertools.product(
            enumerate(rows), repeat=2
        ):
            if name <= other:
                sums[name + other] += int(products[i][j]) << place + other_place
    return sums


def _slices(values: Floats) -> Iterator[tuple[int, Floats]]:
    """Whole numbers of few digits, and how far they are shifted, which add up to some values."""
    while largest := float(np.abs(values).max()):
        power = math.frexp(largest)[1] - _DIGITS
        whole = np.trunc(_shifted(values, -power))  # never above, where no float may be
        yield power + _PLACES, whole
        values = values - _shifted(whole, power)


def _shifted(values: Floats, power: int) -> Floats:
    """Values times a power of 2, without rounding where the result has the digits."""
    return values * 2.0**power if abs(power) <= _LARGEST_POWER else np.ldexp(values, power)


def squares_of(errors: Floats) -> Sums:
    """Return the sums of the squares s of finite errors, (n,), and of their squares.

    "s" counts as of four factors and "ss" as of eight, so that no square vanishes.
    """
    power = math.frexp(float(np.abs(errors).max()))[1]
    sums = sums_of(s=np.ldexp(errors, -power) ** 2)
    sums["s"] <<= 2 * power + 3 * _PLACES
    sums["ss"] <<= 4 * power + 6 * _PLACES
    return sums


def correlation_of(sums: Sums) -> float:
    """Return Pearson's r from `sums_of` x and y; NaN if one is constant."""
    x_square, y_square, product = (
        sums[""] * sums[a + b] - sums[a] * sums[b] for a, b in ("xx", "yy", "xy")
    )
    if not x_square or not y_square:
        return math.nan
    size = math.sqrt(product * product / (x_square * y_square))
    return size if product > 0 else -size


def root_of_ratio(above: int, below: int) -> float:
    """Return the square root of the ratio of whole numbers of any size, the first at least 0."""
    power = (above.bit_length() - below.bit_length()) // 2
    above, below = above << max(-2 * power, 0), below << max(2 * power, 0)
    try:
        return math.ldexp(math.sqrt(above / below), power)
    except OverflowError:
        return math.inf


def share_of_mean(n: int, total: int, squares: int, confidence: float) -> float:
    """Return half the length of Student's t interval of a mean, as a share of the mean.

    Args:
        n: How many values, at least 2, none negative.
        total: Their sum.
        squares: That of their squares, in units of the square of the sum's.
    """
    from scipy.special import stdtrit

    if not total:
        return 0.0
    error = root_of_ratio(max(n * squares - total * total, 0), (n - 1) * total * total)
    return float(stdtrit(n - 1, (1 + confidence) / 2)) * error
