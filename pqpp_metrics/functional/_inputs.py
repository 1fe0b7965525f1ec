"""Shared checks of inputs and options: every metric refuses the same things in the same words.

Torch tensors stay tensors on their device; all else becomes a numpy array, see `_containers`.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import to_numpy, unwrapped
from pqpp_metrics.functional._types import Array, Floats

# Integers beyond this are not all exact in float64: two different scores could become equal.
LARGEST_EXACT_INTEGER = 2**53


def as_array(name: str, value: object) -> Array:
    """Return a torch tensor on its device, and all else that holds values as a numpy array.

    Raises:
        MetricInputError: ragged rows, or what `unwrapped` refuses.
    """
    value = unwrapped(name, value)
    if hasattr(value, "detach"):
        return value
    try:
        return np.asarray(value)
    except (ValueError, TypeError):
        raise MetricInputError(
            f"`{name}` has rows of different lengths; give rows of equal length"
        ) from None


def as_numbers(name: str, value: object, ndim: int) -> Array:
    """Return a non-empty array of numbers with `ndim` dimensions, in its own dtype.

    Raises:
        MetricInputError: not numeric (strings, objects, complex), wrong dimensions, or empty.
    """
    array = as_array(name, value)
    xp = array_api_compat.array_namespace(array)
    if not (xp.isdtype(array.dtype, ("bool", "integral", "real floating"))):
        array = _without_none(name, array)
    if array.ndim != ndim:
        raise MetricInputError(
            f"`{name}` has shape {tuple(array.shape)}; it must have {ndim} dimension(s)"
        )
    if 0 in array.shape:
        raise MetricInputError(f"`{name}` is empty (shape {tuple(array.shape)}); nothing to score")
    return array


def _without_none(name, array):
    """Return an object array whose only non-numbers are None as floats, with NaN for None."""
    if isinstance(array, np.ndarray) and array.dtype == object:
        allowed = (numbers.Real, type(None))
        if all(isinstance(item, allowed) for item in array.flat):
            whole = [item for item in array.flat if isinstance(item, numbers.Integral)]
            _require_exact(name, max(whole, default=0), min(whole, default=0))
            return array.astype(np.float64)
    raise MetricInputError(
        f"`{name}` holds values of type {_kind(array)}; it must hold numbers: convert it first"
    )


def _require_exact(name, largest, smallest):
    """Raise for integers that float64 cannot tell apart."""
    if max(largest, -smallest) > LARGEST_EXACT_INTEGER:
        raise MetricInputError(
            f"`{name}` holds integers beyond 2**53, which float64 cannot tell apart; rescale it"
        )


def _kind(array):
    """Name what an array holds, in the words of the person who filled it."""
    if isinstance(array, np.ndarray) and array.dtype.kind in "US":
        return "str"
    if isinstance(array, np.ndarray) and array.dtype == object:
        found = sorted({type(item).__name__ for item in array.flat})
        return ", ".join(found)
    return str(array.dtype)


def as_floats(name: str, value: object, ndim: int) -> Array:
    """As `as_numbers`, booleans and integers as float64; NaN and infinities are still allowed.

    Raises:
        MetricInputError: as `as_numbers`, and integers that float64 cannot tell apart.
    """
    array = as_numbers(name, value, ndim)
    xp = array_api_compat.array_namespace(array)
    if xp.isdtype(array.dtype, "real floating"):
        return array
    if xp.isdtype(array.dtype, "integral"):
        _require_exact(name, int(xp.max(array)), int(xp.min(array)))
    return xp.astype(array, xp.float64)


def as_finite(name: str, value: object, ndim: int) -> Array:
    """As `as_floats`, and any NaN or infinity is refused."""
    array = as_floats(name, value, ndim)
    require_finite(name, array)
    return array


def finite_numpy(name: str, value: object, ndim: int) -> Floats:
    """As `as_finite`, as a numpy float64 array."""
    return to_numpy(as_finite(name, value, ndim)).astype(np.float64, copy=False)


def require_finite(name: str, array: Array) -> None:
    """Raise unless a floating array is finite, with the number of faults and the first place."""
    xp = array_api_compat.array_namespace(array)
    finite = xp.isfinite(array)
    if bool(xp.all(finite)):
        return
    flat = np.asarray(to_numpy(finite)).ravel()
    position = np.unravel_index(int(np.argmin(flat)), tuple(array.shape))
    where = ", ".join(str(int(i)) for i in position)
    raise MetricInputError(
        f"`{name}` holds {int((~flat).sum())} NaN or infinite value(s), the first at [{where}]; "
        "drop or replace them"
    )


def same_library(**arrays: Array) -> tuple[ModuleType, list[Array]]:
    """Return the namespace of some arrays, and the arrays in the order given.

    Raises:
        MetricInputError: two different array libraries were mixed.
    """
    values = list(arrays.values())
    try:
        return array_api_compat.array_namespace(*values), values
    except TypeError:
        kinds = ", ".join(f"`{name}` {type(value).__name__}" for name, value in arrays.items())
        raise MetricInputError(
            f"the inputs are of different array libraries ({kinds}); give all as the same kind"
        ) from None


def require_same_shape(**arrays: Array) -> None:
    """Raise, with the shapes that came, unless all arrays have the same shape."""
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        came = " and ".join(f"`{name}` {shape}" for name, shape in shapes.items())
        raise MetricInputError(f"shapes differ: {came}; they must be the same")


def as_list(name: str, value: Any) -> list[Any]:
    """Return what was given one by one as a list.

    Raises:
        MetricInputError: a single text, number or anything else that holds no values.
    """
    try:
        if isinstance(value, (str, bytes, Mapping)):
            raise TypeError
        value = unwrapped(name, value)
        flat = isinstance(value, np.ndarray) and value.ndim == 1
        return value.tolist() if flat else list(value)
    except TypeError:
        raise MetricInputError(f"`{name}` is {brief(value)}; it must be a list") from None


def _exact(value):
    """Return a number of numpy as one of Python, which compares with any bound."""
    return value.item() if isinstance(value, np.generic) else value


def brief(value: object) -> str:
    """Return what a value is in a few words of one line."""
    return " ".join(repr(value)[:200].split())[:80]


def require_values(name: str, array: NDArray[Any], allowed: Sequence[float], meaning: str) -> None:
    """Raise, with the first other one, unless a numpy array holds only the allowed values."""
    known = np.isin(array, allowed)
    if not known.all():
        raise MetricInputError(f"`{name}` holds {array[~known][0]:g}; {meaning}")


def require_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise unless an option is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise MetricInputError(f"`{name}` is {brief(value)}; it must be one of {words}")


_MOST_DRAWS = 10_000_000  # minutes for a thousand queries, and more digits of p than are ever told
_LARGEST = 2**128  # a seed may be so long; what is longer has no float to divide by


def require_int(name: str, value: Any, least: int = 1) -> int:
    """Return an option as int, or raise unless it is an integer of at least `least`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or value < least:
        raise MetricInputError(
            f"`{name}` is {brief(value)}; it must be an integer of at least {least}"
        )
    if value > _LARGEST:
        raise MetricInputError(f"`{name}` is beyond 2**128; give a smaller integer")
    return int(value)


def require_draws(name: str, value: Any) -> int:
    """Return a number of random draws as int, or raise unless it is from 1 to ten million."""
    value = require_int(name, value)
    if value > _MOST_DRAWS:
        raise MetricInputError(
            f"`{name}` is {brief(value)}; 1 to {_MOST_DRAWS:,} is allowed, and 10,000 is usual"
        )
    return value


def require_size(height: object, width: object) -> tuple[int, int]:
    """Return a map's height and width, or raise unless it has from 1 to 2**26 pixels."""
    height, width = require_int("height", height), require_int("width", width)
    if height * width > 2**31:
        raise MetricInputError(
            "`height` x `width` is beyond the 2**31 pixels that fit; give pixels"
        )
    return height, width


def require_tolerance(name: str, value: Any) -> float:
    """Return an option as float, or raise unless it is a number of at least 0 and below 1."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not 0 <= value < 1:
        raise MetricInputError(f"`{name}` is {brief(value)}; it must be a number from 0 to below 1")
    return float(value)


def require_between(name: str, value: Any, low: float, high: float) -> float:
    """Return an option as float, or raise unless it lies strictly between two bounds."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not low < _exact(value) < min(high, 2.0**1023):
        raise MetricInputError(
            f"`{name}` is {brief(value)}; it must be a number above {low} and below {high}"
        )
    return float(value)
