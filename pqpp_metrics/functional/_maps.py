"""Checked maps and their statistics, which the saliency metrics share."""

import functools
import math
from types import ModuleType

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Array

CONVENTIONS = ("tuebingen", "pysaliency", "mit", "unisal", "richhf")
# Conventions that convert maps to densities as pysaliency does, and count repeated fixations.
OF_PYSALIENCY = ("tuebingen", "pysaliency")
# A difference may be smaller than its terms by this factor, which loses one and a half digits.
_CANCELLED = 32
SCALE_ERROR = "the values of a map are too large or too small to square and sum; rescale the map"


def sum_products(xp: ModuleType, a: Array, b: Array) -> float:
    """Return the sum of the products of two maps, without a temporary map."""
    return float(xp.sum(xp.vecdot(a, b)))


class SaliencyMap:
    """A map (height, width) with lazily computed statistics that metrics share.

    Sums of squares are computed without subtracting the mean if that is precise enough.
    """

    def __init__(self, xp: ModuleType, values: Array) -> None:
        self.xp, self.values, self.pixels = xp, values, values.shape[0] * values.shape[1]

    @functools.cached_property
    def total(self) -> float:
        return float(self.xp.sum(self.values))

    @functools.cached_property
    def lowest(self) -> float:
        return float(self.xp.min(self.values))

    @functools.cached_property
    def highest(self) -> float:
        return float(self.xp.max(self.values))

    @property
    def mean(self) -> float:
        return self.total / self.pixels

    @functools.cached_property
    def squares(self) -> float:
        """The sum of the squared deviations from the mean."""
        square_sum = sum_products(self.xp, self.values, self.values)
        difference = square_sum - self.total * self.mean
        if difference * _CANCELLED >= square_sum:
            return difference
        deviations = self.values - self.mean
        return sum_products(self.xp, deviations, deviations)

    @functools.cached_property
    def is_flat(self) -> bool:
        """Whether all values are equal."""
        # Rounding leaves tiny deviations in a constant map; compare the extremes only then.
        is_close = math.sqrt(self.squares * self.pixels) <= 1e-12 * abs(self.total)
        is_flat = is_close and self.lowest == self.highest
        if not (is_flat or 0 < self.squares < math.inf):
            raise MetricInputError(SCALE_ERROR)
        return is_flat


def sum_codeviations(p: SaliencyMap, q: SaliencyMap) -> float:
    """Return the sum of the products of two maps' deviations from their means."""
    product = p.total * q.mean
    if abs(product) <= _CANCELLED * math.sqrt(p.squares) * math.sqrt(q.squares):
        return sum_products(p.xp, p.values, q.values) - product
    return sum_products(p.xp, p.values - p.mean, q.values - q.mean)


def convert_maps(
    predictions: Array, references: Array
) -> tuple[ModuleType, Array, Array, tuple[int, ...]]:
    """Convert predicted and true maps, (..., height, width), to one library and shape.

    Returns:
        The namespace, the predicted and the true maps as (maps, height, width), and the shape of
        the leading axes.

    Raises:
        MetricInputError: shapes that differ, fewer than two dimensions, or no pixels.
    """
    predictions = _inputs.as_array("predictions", predictions)
    if predictions.ndim < 2:
        raise _inputs.shape_error("predictions", predictions, "must have a height and a width")
    predictions = _inputs.as_numbers("predictions", predictions, ndim=predictions.ndim)
    references = _inputs.as_numbers("references", references, ndim=predictions.ndim)
    xp = _inputs.require_same_library(predictions=predictions, references=references)
    shape = tuple(predictions.shape)
    stacks = (xp.reshape(stack, (-1, *shape[-2:])) for stack in (predictions, references))
    return xp, *stacks, shape[:-2]


def pair_maps(
    xp: ModuleType, prediction: Array, reference: Array, counts: bool = False
) -> tuple[SaliencyMap, SaliencyMap]:
    """Return a checked predicted and true map; a bool reference that `counts` stays bool.

    Raises:
        MetricInputError: NaN or infinite values, a negative reference.
    """
    q = SaliencyMap(xp, as_true_map(xp, reference, counts))
    p = SaliencyMap(xp, as_map(xp, prediction))
    # The sum is not finite if any value is NaN or infinite, or if finite values overflow.
    if not math.isfinite(p.total):
        _inputs.require_finite("predictions", p.values)
        raise MetricInputError(SCALE_ERROR)
    return p, q


def as_map(xp: ModuleType, values: Array) -> Array:
    return xp.astype(values, xp.float64, copy=False)


def as_true_map(xp: ModuleType, values: Array, counts: bool) -> Array:
    """Return a true map as float64, or bool if it `counts`; raise unless it is finite and from 0.

    A map that `counts` fixations may contain fractions, as weights, but not in most pixels.
    """
    if counts and xp.isdtype(values.dtype, "bool"):
        return values
    values = as_map(xp, values)
    lowest = float(xp.min(values))
    if not (lowest >= 0 and math.isfinite(float(xp.sum(values)))):
        _inputs.require_finite("references", values)
        if lowest >= 0:
            raise MetricInputError(SCALE_ERROR)
        raise MetricInputError(f"`references` must contain no negative value; got {lowest:g}")
    if counts:  # a few thousand pixels are enough to check
        sample = xp.reshape(values, (-1,))
        sample = sample[:: max(1, sample.shape[0] // 4096)]
        if float(xp.mean(xp.astype(sample % 1 > 0, xp.float64))) > 0.5:
            fault = "`references` has fractions in most pixels, like a continuous map"
            raise MetricInputError(f"{fault}; use counts of fixations, or `references > 0`")
    return values
