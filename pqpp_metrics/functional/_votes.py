"""People's votes on generated images: checked once, and whose of them count."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Floats, Integers, Values


def get_alpha(
    items: Integers, ratings: Floats, level: str = "nominal", single_class: str = "one"
) -> float:
    """As `krippendorff_alpha`, of finite ratings in a row, each with its item.

    Items are whole numbers from 0 without a gap; each has two ratings or more.
    """
    if ratings.min() == ratings.max():
        return 1.0 if single_class == "one" else math.nan
    within, between = (_nominal if level == "nominal" else _squared)(items, ratings, level)
    return float(1 - within / between)


def _nominal(items, ratings, level):
    """Disagreement within items and between all ratings, for equal or not."""
    _, codes = np.unique(ratings, return_inverse=True)
    categories, n = int(codes.max()) + 1, len(ratings)
    cells, counts = np.unique(items * categories + codes, return_counts=True)
    # A rating disagrees with all of its item but those in its own category.
    number = np.bincount(items)
    item = cells // categories
    within = (counts * (number[item] - counts) * (1.0 / (number - 1.0))[item]).sum() / n
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
    within = (2 * number * squares * (1.0 / (number - 1.0))).sum() / n
    return within, 2 * n * (ratings * ratings).sum() / (n * (n - 1.0))


def get_ac1(items: Integers, ratings: Floats) -> tuple[float, Floats]:
    """As `gwet_ac1`, of finite ratings in a row, each with its item, and the items' influences.

    Items are whole numbers from 0 without a gap. The influences have the value as their mean; their
    spread is that of Gwet's linearised variance (2008, section 4).
    """
    values, codes = np.unique(ratings, return_inverse=True)
    n, categories = int(items.max()) + 1, len(values)
    if categories == 1:
        return 1.0, np.ones(n)
    counts = np.bincount(items * categories + codes, minlength=n * categories).reshape(n, -1)
    number = counts.sum(axis=1)
    shares = counts / number[:, None]
    rarity = (1 - shares.mean(axis=0)) / (categories - 1)
    several = number > 1
    agreeing = (counts * (counts - 1)).sum(axis=1) / np.maximum(number * (number - 1), 1)
    by_chance = float(shares.mean(axis=0) @ rarity)
    own = several * (agreeing - by_chance) / several.mean() / (1 - by_chance)
    value = float(own.mean())
    return value, own - 2 * (1 - value) * (shares @ rarity - by_chance) / (1 - by_chance)


@dataclass
class RaterVotes:
    """Labels as int8 and which of them are there, both (annotators, images); absent ones are 0.

    One row for each annotator: sums over the long axis cost a fraction of sums over the short.
    """

    labels: np.ndarray
    present: np.ndarray


def as_votes(name: str, labels: Values) -> RaterVotes:
    """Check labels, (images, annotators).

    Raises:
        MetricInputError: wrong dimensions, no images or annotators, another label than 2, 1, 0, -1
            and NaN.
    """
    labels = _inputs.as_floats(name, labels, ndim=2, finite=False)
    with np.errstate(invalid="ignore"):
        votes = labels.astype(np.int8)
    known = votes == labels
    if known.all() and votes.min() >= -1 and votes.max() <= 2:
        return RaterVotes(votes.T.copy(), np.ones(votes.T.shape, dtype=bool))
    present = ~np.isnan(labels)
    given = np.where(present, labels, 0.0)
    votes *= present
    known = (votes == given) & (votes >= -1) & (votes <= 2)
    if not known.all():
        row, column = np.argwhere(~known)[0]
        came = f"`{name}` holds {given[row, column]:g} at [{row}, {column}]"
        raise MetricInputError(f"{came}; a label is 2, 1, 0 or -1, and NaN without a vote")
    return RaterVotes(votes.T.copy(), present.T.copy())
