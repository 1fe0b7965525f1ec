"""Means of scores without float noise, so that equal means are equal and rank as ties."""

from collections.abc import Sequence

import numpy as np

_DIGITS = 12


def exact_mean(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of some columns, rounded to 12 digits.

    Sums of decimal fractions differ in their last bit by the order of the terms: PQPP's published
    mean P@10 has 26 distinct values in 8,000 rows, 21 of them different numbers.

    A row is NaN where a part of it is.

    Example:
        >>> exact_mean([np.array([0.2, 0.3]), np.array([0.4, 0.3])]).tolist()
        [0.3, 0.3]
    """
    return np.round(np.mean(parts, axis=0), _DIGITS)
