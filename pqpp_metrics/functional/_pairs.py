"""Pairs of a predicted and a true value, and their linear correlation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import finite_numpy, require_same_shape
from pqpp_metrics.functional._types import Floats, Values


def paired_values(predictions: Values, references: Values) -> tuple[Floats, Floats]:
    """Check predicted and true values; return them as float64 arrays (n,), n at least 2."""
    x = finite_numpy("predictions", predictions, ndim=1)
    y = finite_numpy("references", references, ndim=1)
    require_same_shape(predictions=x, references=y)
    if len(x) < 2:
        raise MetricInputError("one pair was given; a correlation needs at least 2")
    return x, y


def paired_with_another(
    predictions: Values, other_predictions: Values, references: Values
) -> tuple[Floats, Floats, Floats]:
    """As `paired_values`, with the predictions of a second predictor between the two."""
    other = finite_numpy("other_predictions", other_predictions, ndim=1)
    x, y = paired_values(predictions, references)
    require_same_shape(predictions=x, other_predictions=other)
    return x, other, y


def is_constant(values: NDArray[Any]) -> bool:
    """Whether all values of a numpy array are equal."""
    return bool((values == values[0]).all())


def pearson_correlation(x: Floats, y: Floats) -> float:
    """Pearson's r of two numpy float64 arrays of equal length; NaN if one is constant."""
    if is_constant(x) or is_constant(y):
        return math.nan
    r = float((unit_deviations(x) * unit_deviations(y)).sum())
    return min(1.0, max(-1.0, r))


def unit_deviations(values: Floats) -> Floats:
    """Deviations from the mean, as a vector of length 1."""
    # Powers of two rescale exactly, so no sum or square can overflow or vanish.
    values = _to_unit_range(values)
    deviations = _to_unit_range(values - values.mean())
    # Values that differ in their last digits only: the first mean was rounded to one of them.
    deviations = deviations - deviations.mean()
    return deviations / np.sqrt((deviations * deviations).sum())


def scaled_deviations(values: Floats) -> Floats:
    """Deviations from the median over their mean size: few extreme values move neither much."""
    values = _to_unit_range(values)
    deviations = _to_unit_range(values - np.median(values))
    return deviations / np.abs(deviations).mean()


def _to_unit_range(values):
    """Scale by a power of two so that the largest absolute value lies in [0.5, 1)."""
    return np.ldexp(values, -np.frexp(np.abs(values).max())[1])
