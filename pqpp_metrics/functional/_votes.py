"""Checked votes on generated images, and coefficients of agreement between raters."""

from __future__ import annotations

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Floats, Integers, Values
from pqpp_metrics.functional._influence import get_correlation_interval


def compute_disagreement(
    items: Integers, ratings: Floats | Integers, level: str
) -> tuple[float, Floats]:
    """Return the ratio of disagreement within items to chance disagreement, and the influences.

    Fleiss' kappa is 1 - ratio; Krippendorff's alpha of n ratings is 1 - ratio (n - 1) / n. `items`
    has the item of each rating, numbered from 0; each item has two or more ratings. `level` is as
    for `krippendorff_alpha`. There is one influence per rating.
    """
    _, codes, counts = np.unique(ratings, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return 0.0, np.zeros(len(codes))
    n, number = len(codes), np.bincount(items)[items]
    if level == "nominal":
        pair = np.unique(items * len(counts) + codes, return_inverse=True)[1]
        within = (number - np.bincount(pair)[pair]) / (number - 1)
        by_chance, by_rating = 1 - np.sum((counts / n) ** 2), 2 - 2 * counts[codes] / n
        ratio = float(within.mean() / by_chance)
    else:
        values = np.asarray(ratings, dtype=np.float64)
        if level == "ordinal":  # the distance of two ratings is the difference of their ranks
            values = (np.cumsum(counts) - counts / 2)[codes] / n
        values = values - values.mean()
        rest = values - (np.bincount(items, values) / np.bincount(items))[items]
        weighted = 2 * number / (number - 1) * rest
        within, by_chance = weighted * rest, 2 * np.mean(values * values)
        by_rating, ratio = 2 * values * values + by_chance, float(within.mean() / by_chance)
    effects = ratio * (by_rating - 2 * by_chance) - (within - within.mean())
    if level == "ordinal":  # a rating also moves the ranks above it
        slope = np.bincount(codes, 2 * weighted - 4 * ratio * values) / n
        effects += (slope / 2 - slope[::-1].cumsum()[::-1])[codes]
    return ratio, effects / by_chance


def get_agreement_interval(
    value: float, effects: Floats, units: Integers, confidence: float
) -> tuple[float, float]:
    """Return the interval of a coefficient, from the ratings' influences summed by unit.

    `units` has the unit of each rating, such as its item, numbered from 0; with fewer than 4 units,
    the interval is [-1, 1].
    """
    influences = np.bincount(units, effects) * (int(units.max()) + 1.0) / len(effects)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = get_correlation_interval(value, influences / (1 - value * value), confidence)
    return max(-1.0, low), min(1.0, high)


def get_ac1(items: Integers, ratings: Floats) -> tuple[float, Floats]:
    """Return Gwet's AC1 of finite ratings, and the influence of each item.

    `items` has the item of each rating, numbered from 0. The mean of the influences is the value;
    their variance is Gwet's linearised variance (2008, section 4).
    """
    values, codes = np.unique(ratings, return_inverse=True)
    n, categories = int(items.max()) + 1, len(values)
    if categories == 1:
        return 1.0, np.ones(n)
    pair, counts = np.unique(items * categories + codes, return_counts=True)
    item, code = np.divmod(pair, categories)  # a table of all items and categories may be huge
    number = np.bincount(items)
    shares = counts / number[item]
    prevalence = np.bincount(code, shares) / n
    rarity = (1 - prevalence) / (categories - 1)
    has_several = number > 1
    agreeing = np.bincount(item, counts * (counts - 1)) / np.maximum(number * (number - 1), 1)
    by_chance = float(prevalence @ rarity)
    contributions = has_several * (agreeing - by_chance) / has_several.mean() / (1 - by_chance)
    value = float(contributions.mean())
    expected = np.bincount(item, shares * rarity[code])
    return value, contributions - 2 * (1 - value) * (expected - by_chance) / (1 - by_chance)


def as_votes(name: str, labels: Values) -> tuple[np.ndarray, np.ndarray]:
    """Check labels, (images, annotators), and return them by annotator.

    Returns:
        The labels as int8, 0 if missing, and which labels are present; both (annotators, images).
        Rows are annotators, because sums over the rows of wide arrays are fast.

    Raises:
        MetricInputError: wrong dimensions, no images or annotators, or a label other than 2, 1, 0,
            -1 and NaN.
    """
    labels = _inputs.as_floats(name, labels, ndim=2, finite=False)
    present = ~np.isnan(labels)
    votes = np.where(present, labels, 0.0)
    is_known = (votes == np.floor(votes)) & (votes >= -1) & (votes <= 2)
    if not is_known.all():
        row, column = np.argwhere(~is_known)[0]
        got = f"got {votes[row, column]:g} at [{row}, {column}]"
        raise MetricInputError(f"`{name}` must be 2, 1, 0 or -1, or NaN if missing; {got}")
    return votes.T.astype(np.int8, order="C"), present.T.copy()
