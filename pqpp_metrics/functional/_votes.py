"""People's votes on generated images: checked once, and whose of them count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._categories import category_codes
from pqpp_metrics.functional._containers import Floats, Integers, Values


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
    shares = [side[occurs] / len(left) for side in counts]
    if weights is None:
        apart = np.count_nonzero(left != right) / len(left)
        return float(1 - apart / (1 - shares[0] @ shares[1]))
    place = np.cumsum(occurs) - 1
    distance = np.abs(place[left] - place[right]).astype(np.float64)
    if weights == "linear":
        # Two places are as far apart as there are steps between them that one has taken.
        below, other_below = (np.cumsum(side)[:-1] for side in shares)
        by_chance = (below * (1 - other_below) + other_below * (1 - below)).sum()
    else:
        distance **= 2
        places = np.arange(len(shares[0]))
        means = [side @ places for side in shares]
        pairs = zip(shares, means, strict=True)
        variances = [side @ (places - mean) ** 2 for side, mean in pairs]
        by_chance = sum(variances) + (means[0] - means[1]) ** 2
    return float(1 - np.average(distance) / by_chance)


def alpha_of(
    items: Integers, ratings: Floats, level: str = "nominal", single_class: str = "one"
) -> float:
    """As `krippendorff_alpha`, of finite ratings in a row, each with its item.

    Items are whole numbers from 0 without a gap; each has two ratings or more.
    """
    if ratings.min() == ratings.max():
        return 1.0 if single_class == "one" else math.nan
    if level == "ratio" and ratings.min() < 0:
        raise MetricInputError(f"`ratings` holds {ratings.min():g}; a ratio scale starts at 0")
    distances = {"nominal": _nominal, "ratio": _ratio}.get(level, _squared)
    within, between = distances(items, ratings, level)
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


def _ratio(items, ratings, level):
    """Disagreement within items and between all ratings, for ((a - b) / (a + b)) ** 2."""
    values, codes = np.unique(ratings, return_inverse=True)
    n = len(ratings)
    total = np.bincount(codes).astype(np.float64)
    between = sum(
        float(total[i] * (total @ _ratio_distance(values[i], values))) for i in range(len(values))
    )
    number, within = np.bincount(items), 0.0
    order = np.argsort(items, kind="stable")
    for group in np.split(order, np.cumsum(number)[:-1]):
        item = ratings[group]
        within += float(_ratio_distance(item[:, None], item).sum() * (1.0 / (len(item) - 1.0)))
    return within / n, between / (n * (n - 1.0))


def _ratio_distance(left, right):
    """Squared difference over squared sum; two zeros are equal."""
    both = left + right
    return np.where(both > 0, (left - right) / np.where(both > 0, both, 1.0), 0.0) ** 2


_HIGHLY_RELEVANT = 2


@dataclass
class RaterVotes:
    """Labels as int8 and which of them are there, both (annotators, images); absent ones are 0.

    One row for each annotator: sums over the long axis cost a fraction of sums over the short.
    """

    labels: np.ndarray
    present: np.ndarray

    def of(self, mask: NDArray[np.bool_]) -> RaterVotes:
        """Only the votes that a mask, broadcast to (annotators, images), lets count."""
        present = self.present & mask
        return RaterVotes(self.labels * present, present)


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


def as_mask(reference_images: Values, votes: RaterVotes) -> NDArray[np.bool_]:
    """Check which images are reference images, as bool (images,)."""
    mask = _inputs.as_floats("reference_images", reference_images, ndim=1, finite=False)
    _inputs.require_as_many("one for each image", reference_images=mask, labels=votes.labels.T)
    _inputs.require_values("reference_images", mask, (0, 1), "it is true or false for each image")
    return mask == 1


def admission(
    votes: RaterVotes,
    control_labels: Values | None,
    reference_images: Values | None,
    min_kappa: float,
    min_reference_share: float,
) -> dict[str, Any]:
    """As `admit_annotators`, of checked votes."""
    min_kappa = _inputs.require_between("min_kappa", min_kappa, -1.01, 1.01)
    least_share = _inputs.require_between("min_reference_share", min_reference_share, -0.01, 1.01)
    admitted, kappa, share = np.ones(len(votes.labels), dtype=bool), None, None
    if control_labels is not None:
        control = as_votes("control_labels", control_labels)
        sides = {"control_labels": control.labels.T, "labels": votes.labels.T}
        _inputs.require_as_many("a row for each image", **sides)
        kappa = np.full((len(votes.labels), len(control.labels)), np.nan)
        for pair in np.ndindex(kappa.shape):
            both = votes.present[pair[0]] & control.present[pair[1]]
            if both.any():
                kappa[pair] = kappa_of(votes.labels[pair[0]][both], control.labels[pair[1]][both])
        admitted &= (kappa >= min_kappa).all(axis=1)
    if reference_images is not None:
        of_references = votes.of(as_mask(reference_images, votes))
        number = of_references.present.sum(axis=1)
        high = (of_references.labels == _HIGHLY_RELEVANT).sum(axis=1)
        share = np.where(number > 0, high / np.maximum(number, 1), np.nan)
        admitted &= share > least_share
    return {"admitted": admitted, "kappa": kappa, "reference_share": share}


def votes_that_count(
    votes: RaterVotes, prompts: int, codes: Integers, rules: tuple[Any, ...], best: int
) -> RaterVotes:
    """The votes of admitted annotators, with control labels of the best few of each prompt.

    `codes` is the number of each image's prompt; `rules` are the arguments of `admit_annotators`
    behind the labels.
    """
    admitted, kappa, _ = admission(votes, *rules).values()
    votes, reference_images = votes.of(admitted[:, None]), rules[1]
    if kappa is not None:
        votes = best_votes(votes, prompts, codes, kappa.mean(axis=1), best)
    if reference_images is not None:
        votes = votes.of(~as_mask(reference_images, votes))
    return votes


def best_votes(
    votes: RaterVotes, prompts: int, codes: Integers, quality: Floats, best: int
) -> RaterVotes:
    """As `keep_best_annotators`, of checked votes."""
    best = _inputs.require_int("best", best)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(prompts))
    voted = np.logical_or.reduceat(votes.present[:, order], starts, axis=1)
    ranking = np.argsort(-quality, kind="stable")
    place = np.empty(voted.shape, dtype=np.intp)
    place[ranking] = np.cumsum(voted[ranking], axis=0)
    return votes.of((place <= best)[:, codes])
