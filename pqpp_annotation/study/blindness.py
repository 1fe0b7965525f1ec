"""A check whether models can be recognised by the size, colours or sharpness of their images."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pqpp_annotation.study.images import CheckedImage, Copies
from pqpp_files.foreign.images import open_image

FEWEST, MOST = 20, 100
"""Minimum and maximum number of images per model that are compared."""
FEATURES = ("width", "height", "red", "green", "blue", "contrast", "sharpness")
_MIN_ACCURACY, _FOLDS = 0.75, 5


def find_model_leak(images: Mapping[str, Sequence[CheckedImage]], copies: Copies) -> str | None:
    """Return a warning if a simple classifier can tell two models apart by `FEATURES`, else None.

    For each pair of models, a linear regression on width and height without bars, mean colours,
    contrast and mean difference of neighbouring pixels is cross-validated in five folds. The
    warning names the pair with the highest accuracy, if that is at least 75%; with 20 images per
    model, chance reaches that in 4 of 1,000 pairs.

    Args:
        images: Images by model; models with fewer than 20 are ignored, and at most 100 per model
            are used.
    """

    def compute_features(image: CheckedImage) -> list[float]:
        left, top, right, bottom = np.clip(image.frame, 0, 1)  # the visible part
        pixels = np.asarray(open_image(copies.read(image.shown)), float)
        grey = pixels.mean(axis=2)
        steps = np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean()
        sizes = ((right - left) * image.width, (bottom - top) * image.height)
        return [*np.log(sizes), *pixels.mean(axis=(0, 1)), grey.std(), np.log(steps + 0.1)]

    table = {
        model: np.array([compute_features(image) for image in model_images[:MOST]])
        for model, model_images in images.items()
        if len(model_images) >= FEWEST
    }
    leaks = [(*_get_accuracy(table[a], table[b]), a, b) for a, b in combinations(sorted(table), 2)]
    leaks = [leak for leak in leaks if leak[0] >= _MIN_ACCURACY]
    if not leaks:
        return None
    accuracy, feature, first, second = max(leaks)
    models = f"the models {first} and {second} can be recognised in {accuracy:.0%} of their images"
    return f"{models}, for example by {feature}"


def _get_accuracy(first: NDArray, second: NDArray) -> tuple[float, str]:
    """Return the balanced accuracy of telling two models apart, and the best feature's name."""
    rows, label = np.concatenate([first, second]), np.r_[-np.ones(len(first)), np.ones(len(second))]
    rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-9)
    differences = np.abs(rows[label > 0].mean(axis=0) - rows[label < 0].mean(axis=0))
    rows = np.column_stack([rows, np.ones(len(rows))])
    fold, predicted = np.r_[: len(first), : len(second)] % _FOLDS, np.zeros(len(rows))
    for k in range(_FOLDS):
        weights = np.linalg.lstsq(rows[fold != k], label[fold != k])[0]
        predicted[fold == k] = rows[fold == k] @ weights
    is_correct = predicted * label > 0
    accuracy = (is_correct[label > 0].mean() + is_correct[label < 0].mean()) / 2
    return float(accuracy), FEATURES[int(differences.argmax())]
