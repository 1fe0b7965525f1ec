"""Cohen's kappa of labels that have been checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._categories import category_codes


def kappa_of(
    left: NDArray[Any], right: NDArray[Any], weights: str | None = None, single_class: str = "one"
) -> float:
    """As `cohen_kappa`, of checked labels.

    What chance gives needs only how often each side uses each category, no table of all pairs.
    """
    (left, right), categories = category_codes(left, right)
    counts = [np.bincount(side, minlength=len(categories)) for side in (left, right)]
    occurs = (counts[0] + counts[1]) > 0
    if occurs.sum() == 1:
        return 1.0 if single_class == "one" else math.nan
    n = len(left)
    shares = [side[occurs] / n for side in counts]
    if weights is None:
        apart, by_chance = np.count_nonzero(left != right) / n, 1 - shares[0] @ shares[1]
        return float(1 - apart / by_chance)
    place = np.cumsum(occurs) - 1
    distance = np.abs(place[left] - place[right]).astype(np.float64)
    if weights == "linear":
        # Two places are as far apart as there are steps between them that one has taken.
        below, other_below = (np.cumsum(side)[:-1] for side in shares)
        by_chance = (below * (1 - other_below) + other_below * (1 - below)).sum()
    else:
        distance **= 2
        (mean, variance), (other_mean, other) = (_moments(side) for side in shares)
        by_chance = variance + other + (mean - other_mean) ** 2
    return float(1 - distance.mean() / by_chance)


def _moments(shares):
    """Mean and variance of the place of a category."""
    places = np.arange(len(shares))
    mean = shares @ places
    return mean, shares @ (places - mean) ** 2
