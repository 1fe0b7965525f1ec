"""Check labels of any type, and encode them as integers."""

import itertools
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.names import pluralize
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Integers, Values, to_numpy, unwrap


def as_labels(name: str, values: Values, ndim: int | None = None) -> NDArray[Any]:
    """Return labels as a non-empty numpy array of text, booleans or finite numbers.

    Text is returned as Python strings in an object array.

    Args:
        ndim: Required number of dimensions; None for any.

    Raises:
        MetricInputError: wrong dimensions, no labels, missing labels (None, NaN), or mixed types.
    """
    array = to_label_array(name, values)
    if ndim is not None and array.ndim != ndim:
        raise _inputs.shape_error(name, array, f"must have {pluralize(ndim, 'dimension')}")
    if array.size == 0:
        raise _inputs.shape_error(name, array, "must not be empty")
    if array.dtype == object:
        array = _unify_type(name, array.ravel().tolist()).reshape(array.shape)
    if array.dtype.kind not in "iubfO":
        raise MetricInputError(f"`{name}` has type {array.dtype}; labels must be text or numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise MetricInputError(f"`{name}` contains NaN or infinite labels; drop these items")
    return array


def to_label_array(name: str, values: Values) -> NDArray[Any]:
    """Return labels as a numpy array without conversion; lists and text become object arrays."""
    values = to_numpy(unwrap(name, values))
    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind == "U" else values
    array = np.array(values, dtype=object)
    if not {list, tuple, np.ndarray}.isdisjoint(map(type, array.flat)):
        raise _inputs.ragged_error(name)
    return array


def _unify_type(name, labels):
    """Return an object array of labels as an array of their common type."""
    kinds, fractions = set(map(type, labels)), (float, np.floating)

    def all_are(*allowed):
        return all(issubclass(kind, allowed) for kind in kinds)

    if all_are(str):
        return np.array(labels if kinds == {str} else [*map(str, labels)], dtype=object)
    if all_are(bool, np.bool_):
        return np.array(labels, dtype=bool)
    if all_are(numbers.Integral, np.bool_):
        return np.array(labels, dtype=np.int64)
    if not all_are(numbers.Integral, np.bool_, *fractions):
        got = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise MetricInputError(f"`{name}` must be only text or only numbers; got {got}")
    return np.array(labels, dtype=np.float64)


def encode_labels(ndim: int, **columns: Values) -> tuple[list[Integers], list[Any]]:
    """Check labels, and encode their categories as `encode_categories` does."""
    arrays = {name: as_labels(name, values, ndim) for name, values in columns.items()}
    _inputs.require_same_library(True, **arrays)
    kinds = ["text" if array.dtype == object else "numbers" for array in arrays.values()]
    if len(set(kinds)) > 1:
        got = " and ".join(f"`{n}` has {kind}" for n, kind in zip(arrays, kinds, strict=True))
        raise MetricInputError(f"{got}; use the same type of labels in both")
    return encode_categories(*arrays.values())


def encode_categories(*arrays: NDArray[Any]) -> tuple[list[Integers], list[Any]]:
    """Encode the categories of several arrays from `as_labels`, all of one type, together.

    Returns:
        The arrays as integer codes from 0, and the category of each code, in ascending order. Not
        every code occurs in every array.
    """
    lists = [array.ravel().tolist() for array in arrays]
    categories = sorted(set(itertools.chain.from_iterable(lists)))
    index = dict(zip(categories, itertools.count()))
    codes = [np.array([index[label] for label in labels], dtype=np.intp) for labels in lists]
    return [c.reshape(a.shape) for c, a in zip(codes, arrays, strict=True)], categories


def encode_ids(name: str, ids: Any) -> tuple[NDArray[Any], Integers]:
    """Encode ids, which are all strings or all integers.

    Returns:
        The distinct ids in order of first appearance, and each row's index in them.
    """
    labels = as_labels(name, ids, ndim=1)
    if labels.dtype.kind in "iu":
        return encode_integers(labels)
    if labels.dtype != object:
        raise MetricInputError(f"`{name}` must be strings or integers; got {labels.dtype}")
    index = dict(zip(dict.fromkeys(labels), itertools.count()))
    codes = np.fromiter(map(index.__getitem__, labels), np.intp, len(labels))
    return np.fromiter(index, dtype=object, count=len(index)), codes


def encode_integers(ids: Integers) -> tuple[Integers, Integers]:
    """Encode integers as `encode_ids` does."""
    distinct, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return distinct[order], np.argsort(order)[codes]
