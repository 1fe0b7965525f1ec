"""Votes on images that several people judged, summed by annotator."""

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
            x, y = (z - (self.sums(z) / number)[self.annotator] for z in (x, y))
            x, y = (
                z - (self.sums(z) / number)[self.annotator] for z in (x, y)
            )  # the rounding's rest
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
