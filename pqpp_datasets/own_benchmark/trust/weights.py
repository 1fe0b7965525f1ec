"""Whom the others bear out: weights of annotators, found together with what they agree on.

Where many answer at random, the plain mean of the others is half noise, and good annotators agree
with it little more than bad ones. So what the others say is averaged by weights, which start equal
and then are each annotator's correlation with it (0 where that is negative), round after round.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

_CELLS = 2_000_000
"""Into so many groups, a cell each and annotator, prompts are put for the standard errors."""


@dataclass(frozen=True)
class Shared:
    """The votes on images that others judged too.

    Attributes:
        annotator: Whole numbers from 0 (votes,).
        item: The image of each vote, whole numbers from 0.
        group: Of prompts, whose votes may err together.
        others: How many others voted on the image.
        annotators: How many there are.
    """

    annotator: np.ndarray
    item: np.ndarray
    group: np.ndarray
    others: np.ndarray
    annotators: int

    @classmethod
    def of(
        cls, annotator: np.ndarray, item: np.ndarray, prompt: np.ndarray, annotators: int
    ) -> tuple[Self, np.ndarray]:
        """Return those of some votes that are not alone on their image, and which these are."""
        others = (np.bincount(item) - 1)[item]
        kept = others > 0
        groups = prompt % max(16, _CELLS // annotators)
        return cls(annotator[kept], item[kept], groups[kept], others[kept], annotators), kept

    def sums(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum something over each annotator's votes."""
        return np.bincount(self.annotator, weights, self.annotators).astype(np.float64)

    def of_others(self, weights: np.ndarray) -> np.ndarray:
        """Return, for each vote, the mean of something over the others' votes on the image."""
        total = np.bincount(self.item, weights)
        return (total[self.item] - weights) / self.others

    def errors(self, rests: np.ndarray) -> np.ndarray:
        """Return the standard error of the mean of an annotator's rests, which have mean 0.

        Those of one group of prompts are summed first; of fewer than three groups nothing is
        known, and it is infinite.
        """
        groups = int(self.group.max(initial=0)) + 1
        cell = self.annotator * np.int64(groups) + self.group
        shape = (self.annotators, groups)
        summed = np.bincount(cell, rests, self.annotators * groups).reshape(shape)
        number = np.bincount(cell, minlength=self.annotators * groups).reshape(shape)
        number = np.count_nonzero(number, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (summed * summed).sum(axis=1) * number / (number - 1)
            return np.where(number > 2, np.sqrt(spread) / self.sums(), np.inf)

    def correlations(
        self, value: np.ndarray, other: np.ndarray, with_errors: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how each annotator's votes correlate with something, and the standard errors.

        0 for one value throughout where the other side varies, NaN where neither does. Without
        errors, which take most of the time, the second is that of nobody.
        """
        x, y = value, other
        # Equal votes leave a rest of rounding; nothing that varies is so small.
        least = 1e-9 * float(np.abs(value).max(initial=0.0))
        number = self.sums()
        with np.errstate(invalid="ignore", divide="ignore"):
            for _ in range(2):  # the second time takes the rounding's rest
                x, y = (z - (self.sums(z) / number)[self.annotator] for z in (x, y))
            spread = [np.sqrt(self.sums(z * z) / number) for z in (x, y)]
            x, y = (z / d[self.annotator] for z, d in zip((x, y), spread, strict=True))
            raw = self.sums(x * y) / number
            constant = (spread[0] <= least) & (spread[1] > least)
            r = np.where(np.minimum(*spread) > least, raw, np.where(constant, 0.0, np.nan))
            if not with_errors:
                return r, np.full(self.annotators, np.nan)
            rests = x * y - raw[self.annotator] * (x * x + y * y) / 2
            error = self.errors(np.where(np.isfinite(rests), rests, 0.0))
            return r, np.where(constant, 1 / np.sqrt(number), error)


_ROUNDS = 10
_LEAST = 0.01
"""The least weight, of the greatest: an image that nobody trusted judged keeps its votes' mean."""
_LEAST_SHARED = 20  # fewer votes beside others' tell of nobody, who then has the usual weight
_Z99 = 2.33  # of honest ones no more than one in a hundred is below half of the usual


@dataclass(frozen=True)
class Trusted:
    """How each annotator agrees with what the trusted ones say, a place in each array one.

    Attributes:
        weight: float64, `_LEAST` to 1; 1 for all where nobody agrees with anybody.
        agreement: float64, the correlation with the others' weighted mean; NaN where unknown.
        error: float64, its standard error, over prompts.
        usual: The median agreement, each annotator counted by weight; NaN where unknown.
    """

    weight: np.ndarray
    agreement: np.ndarray
    error: np.ndarray
    usual: float

    @property
    def low(self) -> np.ndarray:
        """Who agrees by less than half of the usual, where the votes are enough to tell."""
        with np.errstate(invalid="ignore"):
            decided = self.error <= self.usual / (2 * _Z99)
            return decided & (self.agreement < self.usual / 2)


def trusted_agreement(votes: Shared, value: np.ndarray) -> Trusted:
    """Weigh annotators by how they agree with the others, these weighed likewise.

    Args:
        votes: Whose they are, and of which images.
        value: float64 (votes,).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, noise = np.tile(np.arange(200.0) % 5, 4), rng.integers(0, 5, 800)
        >>> value = np.where(np.arange(800) < 400, truth, noise)  # two of four at random
        >>> who, item = np.repeat(np.arange(4), 200), np.tile(np.arange(200), 4)
        >>> found = trusted_agreement(Shared(who, item, item, np.full(800, 3), 4), value)
        >>> found.low.tolist(), found.weight.round(1).tolist()
        ([False, False, True, True], [1.0, 1.0, 0.0, 0.0])
    """
    weight = np.ones(votes.annotators)
    agreement = error = np.full(votes.annotators, np.nan)
    enough = votes.sums() >= _LEAST_SHARED
    for number in range(1, _ROUNDS + 1):
        own = weight[votes.annotator]  # of the others, the weighted mean
        total, weights = (np.bincount(votes.item, x)[votes.item] - x for x in (own * value, own))
        others = total / weights
        agreement, error = votes.correlations(value, others, number == _ROUNDS)
        seen = enough & np.isfinite(agreement)
        positive = np.maximum(np.nan_to_num(agreement), 0.0)
        positive[~seen] = np.median(positive[seen]) if seen.any() else 1.0
        greatest = positive.max(initial=0.0)
        if not greatest > 0:
            return Trusted(np.ones(votes.annotators), agreement, error, np.nan)
        weight = np.maximum(positive / greatest, _LEAST)
    seen = enough & np.isfinite(agreement)
    return Trusted(weight, agreement, error, _weighted_median(agreement[seen], weight[seen]))


def weighted_means(
    annotator: np.ndarray,
    item: np.ndarray,
    prompt: np.ndarray,
    value: np.ndarray,
    annotators: int,
    items: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each image's votes, weighed by whom the others bear out, and the weights.

    Args:
        annotator: Whole numbers from 0 (votes,).
        item: The image of each vote, likewise.
        prompt: The prompt of each vote, likewise.
        value: float64 (votes,).
        annotators: How many there are.
        items: How many images there are.

    Returns:
        float64 (items,), NaN where there is no vote, and float64 (annotators,).

    Example:
        >>> who, item, value = np.array([0, 1, 0]), np.array([0, 0, 1]), np.array([1.0, 2.0, 5.0])
        >>> weighted_means(who, item, item, value, 2, 3)[0].tolist()
        [1.5, 5.0, nan]
    """
    shared, kept = Shared.of(annotator, item, prompt, annotators)
    weight = trusted_agreement(shared, value[kept]).weight
    own = weight[annotator]
    with np.errstate(invalid="ignore"):
        total = np.bincount(item, own * value, items)
        return total / np.bincount(item, own, items), weight


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """Return the value up to which half of the weight lies; NaN of none.

    Example:
        >>> _weighted_median(np.array([3.0, 1.0, 2.0]), np.array([9.0, 1.0, 1.0]))
        3.0
    """
    if not len(values):
        return np.nan
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])
