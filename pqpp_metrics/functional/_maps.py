"""Checked maps, and sums over their pixels, which the saliency metrics share."""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Array

CONVENTIONS = ("tuebingen", "pysaliency", "mit", "unisal", "richhf")
# Those of pysaliency: maps become densities in its way, and a repeated fixation counts each time.
OF_PYSALIENCY = ("tuebingen", "pysaliency")
# This number of float64 pixels, and values computed from them, fit into the cache.
_PIXELS_AT_ONCE = 131_072
# A difference may lose so much of its terms' size; that is a digit and a half.
_CANCELLED = 32
SCALE_ERROR = "the values of a map are too large or too small to square and sum; rescale the map"


def _sum_products(xp: ModuleType, pairs: Iterable[tuple[Array, Array]]) -> float:
    """Return the sum of the products of the values in pairs of bands."""
    # Each dot product of a row needs no temporary array and is too short to start threads.
    return math.fsum(float(xp.sum(xp.vecdot(*pair))) for pair in pairs)


class SaliencyMap:
    """A map in bands of rows, with lazily computed sums that metrics share.

    Sums of squares are computed without subtracting the mean if that is precise enough.
    """

    def __init__(self, xp: ModuleType, values: Array, total: float | None = None) -> None:
        """Cut a map (height, width) into bands of rows; `total` is its sum, if known."""
        step = max(1, _PIXELS_AT_ONCE // values.shape[1])
        self.xp, self.pixels = xp, values.shape[0] * values.shape[1]
        self.bands = [values[i : i + step, :] for i in range(0, values.shape[0], step)]
        self.ones = xp.ones_like(self.bands[0][:1, :])
        products = ((band, self.ones) for band in self.bands)
        self.total = _sum_products(xp, products) if total is None else total

    @functools.cached_property
    def lowest(self) -> float:
        return min(float(self.xp.min(band)) for band in self.bands)

    @functools.cached_property
    def highest(self) -> float:
        return max(float(self.xp.max(band)) for band in self.bands)

    @functools.cached_property
    def squares(self) -> float:
        """The sum of the squared deviations from the mean."""
        mean, whole = self.total / self.pixels, _sum_products(self.xp, ((b, b) for b in self.bands))
        plain = whole - self.pixels * mean * mean
        if plain * _CANCELLED >= whole:
            return plain
        return _sum_products(self.xp, ((band - mean,) * 2 for band in self.bands))

    @functools.cached_property
    def is_flat(self) -> bool:
        """Whether all values are equal."""
        # Rounding leaves a constant map deviations of its last digit; only then look closely.
        is_flat, squares = False, self.squares
        if math.isfinite(squares) and math.sqrt(squares * self.pixels) <= 1e-12 * abs(self.total):
            is_flat = self.lowest == self.highest
        if not math.isfinite(squares) or (squares == 0 and not is_flat):
            raise MetricInputError(SCALE_ERROR)
        return is_flat


@dataclass
class MapPair:
    """A predicted map p and the true map q."""

    p: SaliencyMap
    q: SaliencyMap

    def sum_products(self, function: Callable[[Array, Array], tuple[Array, Array]]) -> float:
        """Sum the products of the two arrays that a function of (p, q) returns, over the pixels."""
        bands = zip(self.p.bands, self.q.bands, strict=True)
        return _sum_products(self.p.xp, (function(*band) for band in bands))

    def sum_over(self, function: Callable[[Array, Array], Array]) -> float:
        """Sum a function of (p, q) over the pixels."""
        return self.sum_products(lambda p, q: (function(p, q), self.p.ones))

    def sum_codeviations(self) -> float:
        """Return the sum of the products of p's and q's deviations from their means."""
        pixels = self.p.pixels
        p_mean, q_mean = self.p.total / pixels, self.q.total / pixels
        plain = self.sum_products(lambda p, q: (p, q)) - pixels * p_mean * q_mean
        scale = pixels * abs(p_mean) * abs(q_mean)
        if scale <= _CANCELLED * math.sqrt(self.p.squares) * math.sqrt(self.q.squares):
            return plain
        return self.sum_products(lambda p, q: (p - p_mean, q - q_mean))


def convert_maps(
    predictions: Array, references: Array, name: str = "references"
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
    references = _inputs.as_numbers(name, references, ndim=predictions.ndim)
    xp = _inputs.require_same_library(**{"predictions": predictions, name: references})
    shape = tuple(predictions.shape)
    stacks = (xp.reshape(stack, (-1, *shape[-2:])) for stack in (predictions, references))
    return xp, *stacks, shape[:-2]


def apply_to_maps(
    metric: Callable[[ModuleType, Array, Array], float], predictions: Array, references: Array
) -> Array:
    """Apply `metric`, a function of the namespace and of two maps, to each pair of maps.

    Returns:
        float64 array in the shape of the leading axes, on the device of the maps.
    """
    xp, predictions, references, shape = convert_maps(predictions, references)
    # An overflow ends in a typed error, so numpy need not warn.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        maps = [(predictions[i, ...], references[i, ...]) for i in range(predictions.shape[0])]
        values = [metric(xp, *pair) for pair in maps]
    device = array_api_compat.device(predictions)
    return xp.reshape(xp.asarray(values, dtype=xp.float64, device=device), shape)[()]


def pair_maps(xp: ModuleType, prediction: Array, reference: Array, counts: bool = False) -> MapPair:
    """Return a checked pair of maps; a bool reference is not converted to float64.

    Raises:
        MetricInputError: NaN or infinite values, a negative reference.
    """
    prediction = as_map(xp, prediction)
    reference = reference if counts else as_map(xp, reference)
    q = SaliencyMap(xp, *as_true_map(xp, "references", reference, counts))
    p = SaliencyMap(xp, prediction)
    # A NaN or an infinity anywhere shows in the sum; so does an overflow, which is none.
    if not math.isfinite(p.total):
        _inputs.require_finite("predictions", prediction)
        raise MetricInputError(SCALE_ERROR)
    return MapPair(p, q)


def as_map(xp: ModuleType, values: Array) -> Array:
    return xp.astype(values, xp.float64, copy=False)


def as_true_map(
    xp: ModuleType, name: str, values: Array, counts: bool = False
) -> tuple[Array, float]:
    """Return a true map as float64 or bool; raise unless it is finite and not negative.

    A map that `counts` fixations may contain fractions, as weights, but not in most pixels.

    Returns:
        The map, and its sum; NaN for a bool map, whose sum is not needed.
    """
    if xp.isdtype(values.dtype, "bool"):
        return values, math.nan
    values = as_map(xp, values)
    lowest = float(xp.min(values))
    with np.errstate(over="ignore", invalid="ignore"):  # a typed error follows
        total = float(xp.sum(xp.vecdot(values, xp.ones_like(values[:1, :]))))
    if not (lowest >= 0 and math.isfinite(total)):
        _inputs.require_finite(name, values)
        if lowest >= 0:
            raise MetricInputError(SCALE_ERROR)
        raise MetricInputError(f"`{name}` must contain no negative value; got {lowest:g}")
    if counts:  # a few thousand pixels are enough to check
        some = xp.reshape(values, (-1,))
        some = some[:: max(1, some.shape[0] // 4096)]
        if float(xp.mean(xp.astype(some % 1 > 0, xp.float64))) > 0.5:
            came = f"`{name}` has fractions in most pixels, like a continuous map"
            raise MetricInputError(f"{came}; use counts of fixations, or `{name} > 0`")
    return values, total
