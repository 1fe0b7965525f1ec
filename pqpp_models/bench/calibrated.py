"""What a predictor that knows how sure it is scores in its domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.targets import Z90
from pqpp_models.training.data import correlations


def evaluate_calibrated(
    predictor: Any, prompts: Sequence[str], true: NDArray[np.float64], targets: Sequence[str]
) -> dict[str, Any]:
    """Score a predictor on prompts that it was not fitted to.

    Args:
        predictor: one with ``predict_with_uncertainty``.
        prompts: those of validation.
        true: their targets, shape ``(prompts, targets)``.
        targets: the names of these.

    Returns:
        Pearson's and Kendall's coefficient of each target and their means on ``validation``, of the
        means also for its half that is nearer to the training, ``validation_near``, and the farther
        one; and the share of true values within 1.645 deviations, ``coverage_validation``.
    """
    found = predictor.predict_with_uncertainty(prompts, targets)
    far = found.distance > np.median(found.distance)

    def scores(rows: Any) -> dict[str, list[float]]:
        return score_table(found.values[rows], true[rows], targets)

    return {
        "validation": scores(slice(None)),
        "validation_near": scores(~far)["mean"],
        "validation_far": scores(far)["mean"],
        "coverage_validation": coverage(found.values, found.deviations, true),
    }


def score_table(
    predicted: NDArray[np.float64], true: NDArray[np.float64], targets: Sequence[str]
) -> dict[str, list[float]]:
    """Return Pearson's and Kendall's coefficient of each target, and their means as ``mean``."""
    found = correlations(predicted, true, targets)
    pairs = {name: (f"{name}_pearson", f"{name}_kendall") for name in targets}
    pairs["mean"] = ("pearson", "kendall")
    return {name: [_rounded(found[key]) for key in pair] for name, pair in pairs.items()}


def coverage(
    values: NDArray[np.float64], deviations: NDArray[np.float64], true: NDArray[np.float64]
) -> float:
    """Return the share of true values that lie within 1.645 deviations.

    >>> coverage(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([1.6, 1.7]))
    0.5
    """
    return _rounded((np.abs(true - values) <= Z90 * deviations).mean())


def _rounded(value: float) -> float:
    return round(float(value), 4)
