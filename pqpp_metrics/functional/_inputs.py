"""Checks of inputs and options that all metrics share.

Torch tensors stay tensors on their device; other containers become numpy arrays (see
`_containers`).
"""

import numbers
from collections.abc import Iterable, Sequence, Sized
from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from pqpp_files.errors import reraise
from pqpp_files.names import pluralize
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import Array, Floats, to_numpy, unwrap

_MAX_DRAWS = 10_000_000  # takes minutes for a thousand queries; p is then more than precise enough


def as_array(name: str, value: object) -> Array:
    """Return a torch tensor unchanged, or any other container as a numpy array.

    Raises:
        MetricInputError: rows of different lengths, or masked entries.
    """
    value = unwrap(name, value)
    if hasattr(value, "detach"):
        return value
    try:
        return np.asarray(value)
    except (ValueError, TypeError):
        raise ragged_error(name) from None


def as_numbers(
    name: str, value: object, ndim: int, as_float: bool = False, finite: bool = False
) -> Array:
    """Return a non-empty array of numbers: a torch tensor if the input is one, else numpy.

    Args:
        ndim: Required number of dimensions.
        as_float: Convert booleans and integers to float64; otherwise the dtype is unchanged.
        finite: Convert as with `as_float`, and raise an error for NaN and infinities.

    Raises:
        MetricInputError: not numeric (strings, objects, complex), wrong dimensions, or empty.
    """
    array = as_array(name, value)
    xp = array_api_compat.array_namespace(array)
    if not xp.isdtype(array.dtype, ("bool", "integral", "real floating")):
        array = _convert_none(name, array)
    if array.ndim != ndim:
        raise shape_error(name, array, f"must have {pluralize(ndim, 'dimension')}")
    if 0 in array.shape:
        raise shape_error(name, array, "must not be empty")
    if (as_float or finite) and not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.float64)
    if finite and not bool(xp.all(xp.isfinite(array))):
        require_finite(name, array)
    return array


def as_floats(name: str, value: object, ndim: int, finite: bool = True) -> Floats:
    """Return a float64 array, checked by `as_numbers`; `finite` forbids NaN and infinities."""
    array = as_numbers(name, value, ndim, as_float=True, finite=finite)
    return to_numpy(array).astype(np.float64, copy=False)


def as_same_shape(ndim: int, finite: bool = True, **values: object) -> list[Floats]:
    """Return several inputs of one shape, each converted by `as_floats`."""
    arrays: dict[str, Any] = {n: as_floats(n, v, ndim, finite) for n, v in values.items()}
    require_same_library(**arrays)
    return list(arrays.values())


def _convert_none(name, array):
    kind = str(array.dtype)
    if isinstance(array, np.ndarray) and array.dtype == object:
        if all(isinstance(item, (numbers.Real, type(None))) for item in array.flat):
            with reraise(f"`{name}` has too large a number", "replace it", MetricInputError):
                return array.astype(np.float64)
        kind = ", ".join(sorted({type(item).__name__ for item in array.flat}))
    elif isinstance(array, np.ndarray) and array.dtype.kind in "US":
        kind = "str"
    raise MetricInputError(f"`{name}` must contain only numbers; got values of type {kind}")


def require_finite(name: str, array: Array) -> None:
    """Raise an error with the number and first position of values that are not finite."""
    xp = array_api_compat.array_namespace(array)
    is_invalid = to_numpy(~xp.isfinite(array))
    if is_invalid.any():
        position = ", ".join(map(str, np.argwhere(is_invalid)[0].tolist()))
        fault = f"`{name}` contains {pluralize(int(is_invalid.sum()), 'NaN or infinite value')}"
        raise MetricInputError(f"{fault}, the first at [{position}]; drop or replace these values")


def require_same_library(same_shape: bool = True, **arrays: Array) -> ModuleType:
    """Return the arrays' namespace; raise if their libraries or, on request, shapes differ."""
    xp = array_api_compat.array_namespace(*arrays.values())
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if same_shape and len(set(shapes.values())) > 1:
        names = " and ".join(f"`{name}`" for name in shapes)
        got = " and ".join(map(str, shapes.values()))
        raise MetricInputError(f"{names} must have the same shape; got {got}")
    return xp


def check_lengths(expected: str, **values: Sized) -> None:
    """Raise an error with the lengths unless all inputs have the same length."""
    if len({len(parts) for parts in values.values()}) > 1:
        got = " and ".join(f"{len(parts)} `{name}`" for name, parts in values.items())
        raise MetricInputError(f"expected {expected}; got {got}")


def as_entries(name: str, value: Any, what: str) -> list[Any]:
    """Return an iterable as a non-empty list.

    Args:
        what: A plural noun for the entries, for error messages.

    Raises:
        MetricInputError: See `as_list`, or the input is empty.
    """
    if isinstance(value, str):
        raise MetricInputError(f"`{name}` must be a list of {what}; got a single string")
    if not (entries := as_list(name, value)):
        raise MetricInputError(f"`{name}` must not be empty; add {what}")
    return entries


def as_texts(name: str, value: Any) -> list[str]:
    texts = as_entries(name, value, "strings")
    if others := sorted({type(text).__name__ for text in texts if not isinstance(text, str)}):
        raise MetricInputError(f"`{name}` must contain only strings; got {', '.join(others)}")
    return texts


def as_list(name: str, value: Any) -> list[Any]:
    """Return an iterable as a list.

    Raises:
        MetricInputError: a single string.
    """
    if isinstance(value, str):
        raise not_allowed_error(name, value, "must be a list")
    value = unwrap(name, value)
    is_flat = isinstance(value, np.ndarray) and value.ndim == 1
    return value.tolist() if is_flat else list(value)


def not_allowed_error(name: str, value: object, rule: str) -> MetricInputError:
    text = " ".join(repr(value)[:200].split())[:80]
    return MetricInputError(f"`{name}` {rule}; got {text}")


def ragged_error(name: str) -> MetricInputError:
    return MetricInputError(f"`{name}` has rows of different lengths; make all rows equally long")


def shape_error(name: str, array: Array, rule: str) -> MetricInputError:
    return MetricInputError(f"`{name}` {rule}; got shape {tuple(array.shape)}")


def require_each(
    name: str, values: NDArray[Any], are_allowed: NDArray[np.bool_], rule: str
) -> None:
    """Raise an error with the first value of a numpy array that is not allowed."""
    if not are_allowed.all():
        raise MetricInputError(f"`{name}` {rule}; got {values[~are_allowed][0]:g}")


def require_values(name: str, values: NDArray[Any], allowed: Sequence[float], rule: str) -> None:
    """Raise an error with the first value of a numpy array that is not in `allowed`."""
    require_each(name, values, np.isin(values, allowed), rule)


def require_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise an error unless an option is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise not_allowed_error(name, value, f"must be one of {', '.join(map(repr, allowed))}")


def require_int(name: str, value: Any, ge: int = 1) -> int:
    """Return an option as int; raise unless it is an integer of at least `ge`."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_integer or value < ge:
        raise not_allowed_error(name, value, f"must be an integer of at least {ge}")
    return int(value)


def require_draws(seed: Any, **draws: Any) -> tuple[int, int]:
    """Return the number of random draws and the seed; raise if one is out of range."""
    ((name, value),) = draws.items()
    value = require_int(name, value)
    if value > _MAX_DRAWS:
        raise not_allowed_error(name, value, f"must be from 1 to {_MAX_DRAWS:,}")
    return value, require_int("seed", seed, ge=0)


def require_size(height: object, width: object) -> tuple[int, int]:
    """Return a map's height and width as int; raise unless it has from 1 to 2**26 pixels."""
    height, width = require_int("height", height), require_int("width", width)
    if height * width > 2**26:
        raise MetricInputError(f"a map must have at most 2**26 pixels; got {height} x {width}")
    return height, width


def as_points(name: str, points: object, height: int, width: int) -> Floats:
    """Return [row, column] points of a map as a float64 array (points, 2), which may be empty."""
    if to_numpy(as_array(name, points)).size == 0:
        return np.empty((0, 2))
    pairs = as_floats(name, points, ndim=2, finite=False)
    if pairs.shape[1] != 2:
        raise shape_error(name, pairs, "must have shape (points, 2): row and column")
    is_inside = (pairs >= 0) & (pairs <= [height - 1, width - 1])
    if not is_inside.all():
        outside = pairs[~is_inside.all(axis=1)][0].tolist()
        raise not_allowed_error(name, outside, f"must be inside {height} x {width} pixels")
    return pairs


def require_between(
    name: str, value: Any, low: float, high: float, from_low: bool = False
) -> float:
    """Return an option as float; raise unless low < value < high (low <= value, if `from_low`)."""
    # Convert a numpy number to Python, which compares it with any bound.
    number = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not (low < number < min(high, 2.0**1023) or (from_low and number == low)):
        bounds = f"of at least {low}" if from_low else f"above {low}"
        bounds += f" and below {high}" if high < 2.0**1023 else ""
        raise not_allowed_error(name, value, f"must be a finite number {bounds}")
    return float(value)
