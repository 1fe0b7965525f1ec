"""Disagreement of ratings within items and between all, and alpha, which compares the two."""

from __future__ import annotations

import math

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._types import Floats, Integers


def alpha_of(
    items: Integers, ratings: Floats, level: str = "nominal", single_class: str = "one"
) -> float:
    """As `krippendorff_alpha`, of ratings in a row, each with its item.

    Args:
        items: The item of each rating, whole numbers from 0 without a gap; each has two or more.
        ratings: float64 (ratings,), finite.
        level: As of `krippendorff_alpha`.
        single_class: Likewise.
    """
    if ratings.min() == ratings.max():
        return 1.0 if single_class == "one" else math.nan
    if level == "ratio" and ratings.min() < 0:
        raise MetricInputError(f"`ratings` holds {ratings.min():g}; a ratio scale starts at 0")
    distances = {"nominal": _nominal, "ratio": _ratio}.get(level, _squared)
    within, between = distances(items, ratings, level)
    return float(1 - within / between)


def _pair_weights(items):
    """Weight of each rating's item, 1 / (its ratings - 1), and that of the whole."""
    number = np.bincount(items)
    return 1.0 / (number - 1.0)


def _nominal(items, ratings, level):
    """Disagreement within items and between all ratings, for equal or not."""
    _, codes = np.unique(ratings, return_inverse=True)
    categories, n = int(codes.max()) + 1, len(ratings)
    cells, counts = np.unique(items * categories + codes, return_counts=True)
    # A rating disagrees with all of its item but those in its own category.
    number = np.bincount(items)
    item = cells // categories
    within = (counts * (number[item] - counts) * _pair_weights(items)[item]).sum() / n
    total = np.bincount(codes).astype(np.float64)
    return within, (n * n - (total * total).sum()) / (n * (n - 1.0))


def _squared(items, ratings, level):
    """Disagreement within items and between all ratings, for squared differences."""
    if level == "ordinal":
        # The ratings between two grades are what lies between the middles of their ranks.
        _, codes, counts = np.unique(ratings, return_inverse=True, return_counts=True)
        ratings = (np.cumsum(counts) - counts / 2.0)[codes]
    n = len(ratings)
    ratings = ratings - ratings.mean()
    number = np.bincount(items)
    means = np.bincount(items, ratings) / number
    squares = np.bincount(items, (ratings - means[items]) ** 2)
    # Over all ordered pairs of k values squared differences sum to 2 k times their squares.
    within = (2 * number * squares * _pair_weights(items)).sum() / n
    return within, 2 * n * (ratings * ratings).sum() / (n * (n - 1.0))


def _ratio(items, ratings, level):
    """Disagreement within items and between all ratings, for ((a - b) / (a + b)) ** 2."""
    values, codes = np.unique(ratings, return_inverse=True)
    n = len(ratings)
    total = np.bincount(codes).astype(np.float64)
    between = sum(
        float(total[i] * (total @ _ratio_distance(values[i], values))) for i in range(len(values))
    )
    order = np.argsort(items, kind="stable")
    weights = _pair_weights(items)
    within = 0.0
    for group in np.split(order, np.cumsum(np.bincount(items))[:-1]):
        own = ratings[group]
        within += float(_ratio_distance(own[:, None], own).sum() * weights[items[group[0]]])
    return within / n, between / (n * (n - 1.0))


def _ratio_distance(left, right):
    """Squared difference over squared sum; two zeros are equal."""
    both = left + right
    return np.where(both > 0, (left - right) / np.where(both > 0, both, 1.0), 0.0) ** 2
