"""Convert containers of any library to numpy arrays, torch tensors or nested lists.

Only this module handles frames and series, columns of Arrow tables and datasets, masked arrays,
tensors that numpy cannot read, and arrays of other libraries. Their libraries are not imported:
containers are recognised by their methods. Values are matched by position; row labels are ignored.
"""

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_metrics.errors import MetricInputError

Values: TypeAlias = ArrayLike | Sequence[Any]
"""A container of values: lists, arrays, tensors, frames, columns; see `unwrap`."""

Array: TypeAlias = Any
"""A numpy array, or a torch tensor on its device: no type of Python names both."""

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer[Any]]


_NOT_CONTAINERS = (str, bytes, numbers.Number, np.generic, Mapping, Set, type(None))
_CONTAINER_ATTRIBUTES = ("__len__", "__array__", "detach")  # attributes of containers


def unwrap(name: str, value: object) -> Any:
    """Return a container as a numpy array, torch tensor or list; return other values unchanged.

    Missing values of nullable columns become NaN or None. Floats of fewer than 32 bits become
    float32, which represents them exactly.

    Raises:
        MetricInputError: masked entries, which would otherwise be read as values.
    """
    if isinstance(value, (list, tuple)):
        first = next((part for part in value if part is not None), None)
        # Check only the first value: a mixture of values and arrays is ragged anyway.
        is_plain = isinstance(first, (*_NOT_CONTAINERS, list, tuple))
        if is_plain or not any(hasattr(first, attribute) for attribute in _CONTAINER_ATTRIBUTES):
            return value
        return [to_numpy(unwrap(name, part)) for part in value]
    if isinstance(value, _NOT_CONTAINERS):
        return value
    if array_api_compat.is_torch_array(value):
        tensor: Any = value.detach()
        return tensor.float() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise MetricInputError(f"`{name}` is a masked array; fill or drop the masked entries")
    if hasattr(value, "to_pylist"):
        arrow: Any = value
        if not hasattr(arrow, "null_count"):  # an Arrow table becomes rows
            value = list(zip(*(column.to_pylist() for column in arrow.columns), strict=True))
        else:  # a list if there are nulls, so that integers stay integers
            exact = arrow.null_count or str(arrow.type).startswith("extension")
            value = arrow.to_pylist() if exact else np.asarray(arrow)
    elif hasattr(value, "to_numpy"):
        # A series or frame of pandas or polars.
        frame: Any = value
        is_mixed = hasattr(frame, "columns") and len(set(frame.dtypes)) > 1
        if is_mixed and hasattr(frame, "rows"):  # polars
            value = frame.rows()
        else:
            value = array = frame.to_numpy(dtype=object) if is_mixed else frame.to_numpy()
            if array.dtype == object and np.any(getattr(frame, "isna", lambda: True)()):
                missing = [type(label).__name__ in ("NAType", "NaTType") for label in array.flat]
                value = np.where(np.reshape(missing, array.shape), None, array)
    elif not hasattr(value, "__array__") and isinstance(value, Iterable):
        value = list(value)  # such as a column of datasets
    if isinstance(value, list):
        return unwrap(name, value)
    array = np.asarray(value)
    if array.dtype == object and array.ndim == 1:
        parts = unwrap(name, array.tolist())
        is_nested = any(isinstance(part, (list, tuple, np.ndarray)) for part in parts)
        return parts if is_nested else array
    return array.astype(np.float32) if array.dtype.kind == "f" and array.itemsize < 4 else array


def mean_without_nan(values: NDArray[Any]) -> float:
    """Return the mean of an array's values that are not NaN; NaN if there are none."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if present.size else float("nan")


def to_numpy(array: Array) -> NDArray[Any]:
    """Return a numpy array or a torch tensor on any device as a numpy array."""
    return array.detach().cpu().numpy() if hasattr(array, "detach") else array
