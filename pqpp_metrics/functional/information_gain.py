"""How much a saliency model knows about where people look, beyond a baseline, in bits."""

from __future__ import annotations

import math

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs, _maps
from pqpp_metrics.functional._containers import Array, Values


def information_gain(
    predictions: Values, references: Values, baseline: Values | None = None
) -> Array:
    """Information gain: the mean of log2 of predicted over baseline density, over fixations.

    Kümmerer, Wallis and Bethge, "Information-theoretic model comparison unifies saliency metrics",
    PNAS 112, 2015; the column IG of the MIT/Tuebingen benchmark, whose baseline is a centre bias.
    Maps are scaled to sum 1.

    Args:
        predictions: Densities, shape (..., height, width), never negative and not all 0: of a model
            of log densities their exponentials.
        references: Number of fixations on each pixel, same shape; repeated ones count each time, a
            fraction is a weight.
        baseline: The density to be better than, of one shape with the predictions, or one map
            (height, width) for all; None (default): uniform.

    Returns:
        float64 in bits per fixation, shape (...): 0 for what knows no more than the baseline, not
        bounded. NaN for a map without fixations; -inf where people looked at a pixel that the
        prediction gives no chance, inf where only the baseline gives it none, NaN for both.

    Raises:
        MetricInputError: shapes that differ, values that are negative, NaN or infinite, a density
            without mass.

    Example:
        >>> float(information_gain([[1.0, 1.0], [2.0, 4.0]], [[0, 0], [0, 3]]))
        1.0
    """
    xp, predicted, true, shape = _maps.map_inputs(predictions, references)
    others = xp.ones_like(predicted[:1, ...])
    if baseline is not None:
        given = _inputs.as_array("baseline", baseline)
        like = predicted[0, ...] if given.ndim == 2 else predictions
        others = _maps.map_inputs(like, given, "baseline")[2]
    values = []
    for number in range(predicted.shape[0]):
        counts, _ = _maps.checked_truth(xp, "references", true[number, ...])
        counts = xp.reshape(_maps.as_map(xp, counts), (-1,))
        fixated = counts > 0
        counts = counts[fixated]
        other = others[number if others.shape[0] > 1 else 0, ...]
        model = _log_density(xp, "predictions", predicted[number, ...], fixated)
        with np.errstate(invalid="ignore"):
            gain = model - _log_density(xp, "baseline", other, fixated)
        total = float(xp.sum(counts))
        values.append(float(xp.sum(gain * counts)) / total if total else math.nan)
    return _maps.as_values(xp, values, predicted, shape)


def _log_density(xp, name, values, fixated):
    """log2 of a map's density at the fixated pixels."""
    values, total = _maps.checked_truth(xp, name, _maps.as_map(xp, values))
    if not total:
        raise MetricInputError(f"`{name}` holds a map of zeros; a density has mass somewhere")
    with np.errstate(divide="ignore"):
        return xp.log2(xp.reshape(values, (-1,))[fixated]) - math.log2(total)
