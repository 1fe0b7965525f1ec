"""What the saliency metrics share: checked maps, conventions, and a walk over the pixels."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    as_array,
    as_numbers,
    require_finite,
    require_same_shape,
    same_library,
)
from pqpp_metrics.functional._types import Array, Values

CONVENTIONS = ("tuebingen", "pysaliency", "mit", "unisal", "richhf")
# Those of pysaliency: maps become densities in its way, and a repeated fixation counts each time.
OF_PYSALIENCY = ("tuebingen", "pysaliency")
# So many float64 pixels, and what is computed from them, stay in the cache.
_PIXELS_AT_ONCE = 131_072
# A difference may lose so much of its terms' size; that is a digit and a half.
_CANCELLED = 32
SCALE_ERROR = "a map holds values too large or too small to square and sum; rescale it"


@dataclass
class MapPair:
    """One predicted map p and its truth q, in bands of rows, with the sums that metrics share.

    Sums of squares and products skip the subtraction of the means where digits allow it.
    """

    xp: ModuleType
    bands: list[tuple[Array, Array]]
    pixels: int
    q_sum: float

    def sum(self, function: Callable[[Array, Array], Array]) -> float:
        """Sum a function of (p, q) over the pixels."""
        return self.dot(lambda p, q: (function(p, q), self._ones))

    def dot(self, function: Callable[[Array, Array], tuple[Array, Array]]) -> float:
        """Sum the product of the two arrays that a function of (p, q) returns.

        Row by row, which needs no array of products and is too short to start threads.
        """
        return math.fsum(
            float(self.xp.sum(self.xp.vecdot(*function(*band)))) for band in self.bands
        )

    @functools.cached_property
    def _ones(self):
        return self.xp.ones_like(self.bands[0][0][:1, :])

    @functools.cached_property
    def p_sum(self) -> float:
        """Sum of the predictions."""
        return self.sum(lambda p, q: p)

    @functools.cached_property
    def p_low(self) -> float:
        """Lowest prediction."""
        return min(float(self.xp.min(p)) for p, _ in self.bands)

    @functools.cached_property
    def p_squares(self) -> float:
        """Sum of the squared deviations of the predictions from their mean."""
        mean = self.p_sum / self.pixels
        return self._squares(mean, lambda p, q: p)

    @functools.cached_property
    def q_squares(self) -> float:
        """Sum of the squared deviations of the truth from its mean."""
        mean = self.q_sum / self.pixels
        return self._squares(mean, lambda p, q: q)

    def product(self) -> float:
        """Sum of the products of the deviations of predictions and truth from their means."""
        p_mean, q_mean = self.p_sum / self.pixels, self.q_sum / self.pixels
        plain = self.dot(lambda p, q: (p, q)) - self.pixels * p_mean * q_mean
        scale = self.pixels * abs(p_mean) * abs(q_mean)
        if scale <= _CANCELLED * math.sqrt(self.p_squares) * math.sqrt(self.q_squares):
            return plain
        return self.dot(lambda p, q: (p - p_mean, q - q_mean))

    def _squares(self, mean, side):
        """Squared deviations: from the raw squares, unless little of them would be left."""
        whole = self.dot(lambda p, q: (side(p, q),) * 2)
        plain = whole - self.pixels * mean * mean
        if plain * _CANCELLED >= whole:
            return plain
        return self.dot(lambda p, q: (side(p, q) - mean,) * 2)

    @functools.cached_property
    def p_flat(self) -> bool:
        """Whether all predictions are equal."""
        return self._is_flat(0, self.p_squares, self.p_sum)

    @functools.cached_property
    def q_flat(self) -> bool:
        """Whether all true values are equal."""
        return self._is_flat(1, self.q_squares, self.q_sum)

    def _is_flat(self, which, squares, total):
        # Rounding leaves a constant map deviations of its last digit; only then look closely.
        flat = False
        if math.isfinite(squares) and math.sqrt(squares * self.pixels) <= 1e-12 * abs(total):
            lows = [float(self.xp.min(band[which])) for band in self.bands]
            flat = min(lows) == max(float(self.xp.max(band[which])) for band in self.bands)
        if not math.isfinite(squares) or (squares == 0 and not flat):
            raise MetricInputError(SCALE_ERROR)
        return flat

    def with_truth(self, truth: Array, total: float) -> MapPair:
        """The same predictions with another truth and its sum; what is known of them stays."""
        bands = [(p, q) for (p, _), q in zip(self.bands, bands_of(truth), strict=True)]
        other = MapPair(self.xp, bands, self.pixels, total)
        known = {name: value for name, value in vars(self).items() if name.startswith("p_")}
        vars(other).update(known)
        return other


def map_inputs(
    predictions: Array, references: Array, name: str = "references"
) -> tuple[ModuleType, Array, Array, tuple[int, ...]]:
    """Bring predicted and true maps, (..., height, width), into one library and the same shape.

    Returns:
        The namespace, both stacks as (maps, height, width), and the shape of what comes before.

    Raises:
        MetricInputError: shapes that differ, fewer than two dimensions, no pixels.
    """
    stacks = {"predictions": predictions, name: references}
    stacks = {key: as_array(key, stack) for key, stack in stacks.items()}
    xp, (predictions, references) = same_library(**stacks)
    if predictions.ndim < 2:
        raise MetricInputError(
            f"`predictions` has shape {tuple(predictions.shape)}; a map has a height and a width"
        )
    predictions = as_numbers("predictions", predictions, ndim=predictions.ndim)
    references = as_numbers(name, references, ndim=predictions.ndim)
    require_same_shape(**{"predictions": predictions, name: references})
    shape = tuple(predictions.shape)
    predictions, references = (
        xp.reshape(stack, (-1, *shape[-2:])) for stack in (predictions, references)
    )
    return xp, predictions, references, shape[:-2]


def on_each_map(
    function: Callable[[MapPair], float],
    predictions: Array,
    references: Array,
    counts: bool = False,
) -> Array:
    """Apply a function of a `MapPair` to every map, once its values have been checked.

    Returns:
        float64 array of the shape before height and width.

    Raises:
        MetricInputError: as `map_inputs`, and NaN or infinite values, negative references.
    """
    xp, predictions, references, shape = map_inputs(predictions, references)
    # What overflows ends in a typed error; numpy need not warn of it as well.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = [
            function(map_pair(xp, predictions[i, ...], references[i, ...], counts))
            for i in range(predictions.shape[0])
        ]
    return as_values(xp, values, predictions, shape)


def as_values(
    xp: ModuleType, values: Sequence[float], like: Array, shape: tuple[int, ...]
) -> Array:
    """One float a map as a float64 array of a given shape, on the device of the maps."""
    device = array_api_compat.device(like)
    return xp.reshape(xp.asarray(values, dtype=xp.float64, device=device), shape)[()]


def map_pair(xp: ModuleType, prediction: Array, reference: Array, counts: bool = False) -> MapPair:
    """Check one predicted and true map, cut into bands; one that counts fixations may stay bool.

    Raises:
        MetricInputError: NaN or infinite values, a negative reference.
    """
    p = bands_of(as_map(xp, prediction))
    truth = reference if counts else as_map(xp, reference)
    truth, total = checked_truth(xp, "references", truth)
    q = bands_of(truth)
    pixels = prediction.shape[0] * prediction.shape[1]
    pair = MapPair(xp, list(zip(p, q, strict=True)), pixels, total)
    # A NaN or an infinity anywhere shows in the sum; so does an overflow, which is none.
    if not math.isfinite(pair.p_sum):
        require_finite("predictions", as_map(xp, prediction))
        raise MetricInputError(SCALE_ERROR)
    return pair


def as_map(xp: ModuleType, values: Array) -> Array:
    """A map as float64."""
    return xp.astype(values, xp.float64, copy=False)


def checked_truth(xp: ModuleType, name: str, values: Array) -> tuple[Array, float]:
    """A true map as float64, or as it is where it is bool; raise unless finite and not negative.

    Returns:
        The map, and its sum; NaN for the sum of a bool map, which nobody needs.
    """
    if xp.isdtype(values.dtype, "bool"):
        return values, math.nan
    values = as_map(xp, values)
    lowest = float(xp.min(values))
    with np.errstate(over="ignore", invalid="ignore"):  # a typed error follows
        total = float(xp.sum(xp.vecdot(values, xp.ones_like(values[:1, :]))))
    if not (lowest >= 0 and math.isfinite(total)):
        require_finite(name, values)
        if lowest >= 0:
            raise MetricInputError(SCALE_ERROR)
        raise MetricInputError(
            f"`{name}` holds {lowest:g}; a true map or a fixation count is never negative"
        )
    return values, total


def listed_maps(name: str, maps: Values) -> list[Array]:
    """The maps of a stack (images, height, width), or of a list, in which they may differ in size.

    Raises:
        MetricInputError: one map alone, none, or what is no map of numbers.
    """
    if isinstance(maps, (list, tuple)):
        maps = list(maps)
    else:
        stack = as_array(name, maps)
        maps = [stack[i, ...] for i in range(stack.shape[0])] if stack.ndim else [stack]
    if not maps:
        raise MetricInputError(f"`{name}` is empty; nothing to score")
    maps = [as_array(name, one) for one in maps]
    for one in maps:
        if one.ndim != 2:
            raise MetricInputError(
                f"`{name}` holds a map of shape {tuple(one.shape)}; give (images, height, width), "
                "or a list of maps"
            )
    return [as_numbers(name, one, ndim=2) for one in maps]


def bands_of(values: Array) -> list[Array]:
    """Cut a map into bands of rows that fit the cache."""
    step = max(1, _PIXELS_AT_ONCE // values.shape[1])
    return [values[i : i + step, :] for i in range(0, values.shape[0], step)]
