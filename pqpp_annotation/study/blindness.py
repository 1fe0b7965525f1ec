"""What still distinguishes models on the copies that people see, without names and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from pqpp_annotation.study.images import CheckedImage, Copies
from pqpp_files.foreign.images import open_image

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST, MOST = 20, 100
"""Images of a model that are compared: at least and at most."""
SIGNS = ("width", "height", "red", "green", "blue", "contrast", "sharpness")
_TOLD, _FOLDS, _RIDGE = 0.75, 5, 1.0


def check_blindness(images: Mapping[str, Sequence[CheckedImage]], copies: Copies) -> str | None:
    """Return how well models can be identified without seeing the images.

    Two models at a time, a ridge regression on `SIGNS`, the width and height of the image within
    its bars, mean colours, contrast and the mean step between neighbouring pixels, is fitted to
    four fifths of the images and tested on the others. The pair that it separates best is named, if
    it is right about three quarters or more: of forty images chance does so once in a thousand.

    Args:
        images: Images by model; models with fewer than 20 are left out, and 100 per model are used.
        copies: The copies that people see.
    """

    def compute_signs(image: CheckedImage) -> list[float]:
        left, top, right, bottom = np.clip(image.frame, 0, 1)  # of what is seen
        shown = np.asarray(open_image(copies.read(image.shown)), float)
        grey = shown.mean(axis=2)
        steps = np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean()
        sizes = ((right - left) * image.width, (bottom - top) * image.height)
        return [*np.log(sizes), *shown.mean(axis=(0, 1)), grey.std(), np.log(steps + 0.1)]

    signs = {
        model: np.array([compute_signs(image) for image in some[:MOST]])
        for model, some in images.items()
        if len(some) >= FEWEST
    }
    found = [(*_get_accuracy(signs[a], signs[b]), a, b) for a, b in combinations(sorted(signs), 2)]
    found = [one for one in found if one[0] >= _TOLD]
    if not found:
        return None
    right, sign, first, second = max(found)
    return (
        f"a classifier using {sign} etc. can tell {first} from {second} for {right:.0%} of images"
    )


def _get_accuracy(first: NDArray, second: NDArray) -> tuple[float, str]:
    """Return the mean share of each recognised when left out, and the best sign."""
    rows, side = np.concatenate([first, second]), np.r_[-np.ones(len(first)), np.ones(len(second))]
    rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-9)
    apart = np.abs(rows[side > 0].mean(axis=0) - rows[side < 0].mean(axis=0))
    rows = np.column_stack([rows, np.ones(len(rows))])
    fold, predicted = np.r_[: len(first), : len(second)] % _FOLDS, np.zeros(len(rows))
    for number in range(_FOLDS):
        training = rows[fold != number]
        gram = training.T @ training + _RIDGE * np.eye(training.shape[1])
        weights = np.linalg.solve(gram, training.T @ side[fold != number])
        predicted[fold == number] = rows[fold == number] @ weights
    is_right = predicted * side > 0
    right = (is_right[side > 0].mean() + is_right[side < 0].mean()) / 2
    return float(right), SIGNS[int(apart.argmax())]
