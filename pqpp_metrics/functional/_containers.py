"""What holds values, of whatever library, as a numpy array, a torch tensor or nested lists.

The one place that knows frames and series, columns of Arrow and of datasets, masked arrays, tensors
that numpy cannot read and arrays of other libraries. None is imported: each is known by what it can
do. What says by place which value belongs to which keeps its order; labels of rows do not count.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable, Mapping, Set
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._types import Array

_NO_CONTAINER = (str, bytes, numbers.Number, np.generic, Mapping, Set, type(None))


def unwrapped(name: str, value: object) -> Any:
    """Return numpy arrays, torch tensors, lists and what holds nothing; all else as one of these.

    Missing values of nullable columns become NaN or None. Floats of fewer bits than 32 become
    float32, which holds them exactly.

    Raises:
        MetricInputError: masked entries, which would count as values, a sparse tensor, an array
            that numpy cannot read.
    """
    if isinstance(value, (list, tuple)):
        return _unwrapped_items(name, value) if _holds_containers(value) else value
    if isinstance(value, _NO_CONTAINER):
        return value
    if array_api_compat.is_torch_array(value):
        return _readable_tensor(name, value)
    array = value if isinstance(value, np.ndarray) else _of_another_library(name, value)
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise MetricInputError(
                f"`{name}` is a masked array; fill or drop the masked entries first"
            )
        array = array.data
    if not isinstance(array, np.ndarray):
        return unwrapped(name, array)
    if array.dtype == object and array.ndim == 1 and _holds_containers(array.tolist()):
        return _unwrapped_items(name, array.tolist())
    if array.dtype.kind == "f" and array.itemsize < 4:
        return array.astype(np.float32)
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.type is not np.void:
        return array.astype(np.float32)  # bfloat16 and the like, which numpy only stores
    return array


def to_numpy(array: Array) -> NDArray[Any]:
    """Return a numpy array or a torch tensor on any device as a numpy array."""
    return array.detach().cpu().numpy() if hasattr(array, "detach") else array


def _unwrapped_items(name, values):
    return [to_numpy(unwrapped(name, value)) for value in values]


def _holds_containers(values):
    """Whether lists, nested to any depth, hold anything but lists and single values."""
    while True:
        first = next((one for one in values if one is not None), None)
        if not isinstance(first, (list, tuple)):
            # One value of a list tells of all: what mixes values and arrays is ragged anyway.
            return not isinstance(first, _NO_CONTAINER) and _can_hold(first)
        if not set(map(type, values)) <= {list, tuple, type(None)}:
            return True
        values = list(itertools.chain.from_iterable(one for one in values if one is not None))


def _can_hold(value):
    return hasattr(value, "__len__") or hasattr(value, "__array__") or hasattr(value, "detach")


def _readable_tensor(name, tensor):
    """A torch tensor without its history, in a dtype that numpy has."""
    if tensor.is_quantized or str(tensor.layout) != "torch.strided":
        raise MetricInputError(f"`{name}` is no dense tensor; give a dense one, see `to_dense`")
    if tensor.requires_grad:
        tensor = tensor.detach()
    return tensor.float() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor


def _of_another_library(name, value):
    """A numpy array, or a list, of what frames, columns and arrays of other libraries hold."""
    if hasattr(value, "to_pylist"):
        return _of_arrow(value)
    if hasattr(value, "to_numpy"):
        return _of_columns(value)
    if not (hasattr(value, "__array__") or hasattr(value, "__dlpack__")):
        # A column of datasets is a list, for one.
        return list(value) if isinstance(value, Iterable) else np.asarray(value)
    try:
        return np.asarray(value)
    except Exception as error:  # each library has its own
        what = f"{type(value).__module__}.{type(value).__name__}"
        raise MetricInputError(
            f"`{name}` is a {what}, which numpy cannot read ({str(error)[:80]}); give a numpy "
            "array or a torch tensor"
        ) from None


def _of_arrow(value):
    """A table of Arrow as rows, a column as an array; with nulls a list, as integers stay whole."""
    if not hasattr(value, "null_count"):
        return list(zip(*(column.to_pylist() for column in value.columns), strict=True))
    if "fixed_shape_tensor" in str(value.type):
        whole = value.combine_chunks() if hasattr(value, "combine_chunks") else value
        return whole.to_numpy_ndarray()
    exact = value.null_count or str(value.type).startswith("extension")
    return value.to_pylist() if exact else np.asarray(value)


def _of_columns(value):
    """A series or frame of pandas or polars; None where an array of objects has missing values."""
    mixed = hasattr(value, "columns") and len(set(value.dtypes)) > 1
    if mixed and hasattr(value, "rows"):  # polars
        return value.rows()
    array = value.to_numpy(dtype=object) if mixed else value.to_numpy()
    if array.dtype == object:
        missing = [type(one).__name__ in ("NAType", "NaTType") for one in array.flat]
        if any(missing):
            array = array.copy()
            array[np.reshape(missing, array.shape)] = None
    return array
