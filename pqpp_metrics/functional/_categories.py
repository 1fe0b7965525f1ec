"""Labels of any kind: checked, of their own type to the last digit, and as category numbers."""

from __future__ import annotations

import itertools
import numbers
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import to_numpy, unwrapped
from pqpp_metrics.functional._inputs import LARGEST_EXACT_INTEGER
from pqpp_metrics.functional._types import Integers, Values

# Integer labels in a range this wide are counted directly; wider ones are sorted first.
_COMPACT = 4096


def as_labels(name: str, values: Values, ndim: int | None = None) -> NDArray[Any]:
    """Return labels as a non-empty numpy array of text, UUIDs, booleans or finite numbers.

    Text, UUIDs and numbers that no type of numpy holds exactly (of more than 64 bits, or large
    integers beside fractions) are Python's own, in an array of objects.

    Args:
        ndim: How many dimensions there must be; None: any number.

    Raises:
        MetricInputError: wrong dimensions, empty, missing labels (None, NaN), mixed kinds.
    """
    array = label_array(name, values)
    if ndim is not None and array.ndim != ndim:
        raise MetricInputError(
            f"`{name}` has shape {array.shape}; it must have {ndim} dimension(s)"
        )
    if array.size == 0:
        raise MetricInputError(f"`{name}` is empty (shape {array.shape}); nothing to score")
    if array.dtype == object:
        array = _of_one_kind(name, array.ravel().tolist()).reshape(array.shape)
    if array.dtype.kind not in "iubfO":
        raise MetricInputError(f"`{name}` holds {array.dtype}; give text or numbers as labels")
    if array.dtype.kind == "f":
        _require_finite(name, array)
    return array


def label_array(name: str, values: Values) -> NDArray[Any]:
    """Return labels as a numpy array that changes none of them: lists and text as objects."""
    values = to_numpy(unwrapped(name, values))
    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind == "U" else values
    array = np.array(values, dtype=object)
    if not {list, tuple, np.ndarray}.isdisjoint(map(type, array.flat)):
        raise MetricInputError(f"`{name}` has rows of different lengths; give rows of equal length")
    return array


def _of_one_kind(name, labels):
    """An array of some labels, in the smallest type that keeps them as they are."""
    kinds = set(map(type, labels))

    def are(*allowed):
        return all(issubclass(kind, allowed) for kind in kinds)

    if are(str) or are(uuid.UUID):
        return objects(labels)
    if are(bool, np.bool_):
        return np.array(labels, dtype=bool)
    if are(numbers.Integral, np.bool_):
        return integers(labels)
    fractions = (float, np.floating)
    if not are(numbers.Integral, np.bool_, *fractions):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        mixed = are(str, numbers.Integral, *fractions) and "mixes text and numbers:"
        raise MetricInputError(
            f"`{name}` {mixed or 'holds'} {found}; give all text or all numbers, none missing"
        )
    large = (
        isinstance(one, numbers.Integral) and abs(one) > LARGEST_EXACT_INTEGER for one in labels
    )
    if not any(large):
        return np.array(labels, dtype=np.float64)
    _require_finite(name, np.array([one for one in labels if isinstance(one, fractions)]))
    return objects(labels)


def _require_finite(name, fractions):
    if not np.isfinite(fractions).all():
        raise MetricInputError(f"`{name}` holds NaN or infinite labels; drop those items first")


def kind_of(labels: NDArray[Any]) -> str:
    """What an array from `as_labels` holds: "text", "UUIDs" or "numbers"."""
    if labels.dtype != object:
        return "numbers"
    first = labels.flat[0]
    return (
        "text" if isinstance(first, str) else "UUIDs" if isinstance(first, uuid.UUID) else "numbers"
    )


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """An array of the very objects, with Python's numbers for those of numpy."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return np.fromiter(plain, dtype=object, count=len(plain))


def integers(values: Sequence[Any]) -> NDArray[Any]:
    """An array of a list of integers: of 64 bits where they fit, else of objects."""
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(values, dtype=dtype)
        except OverflowError:
            continue
    return objects(values)


def category_codes(*arrays: NDArray[Any]) -> tuple[list[Integers], Sequence[Any] | NDArray[Any]]:
    """Number the categories of several arrays from `as_labels`, all of one kind, together.

    Returns:
        The arrays as integer codes, 0 to the number of categories less 1 (some may not occur),
        and the category of each code, in rising order.
    """
    codes: list[Integers]
    categories: Sequence[Any] | NDArray[Any]
    whole = [_whole(array) for array in arrays]
    kinds = {array.dtype.kind for array in whole}
    if kinds <= set("iub"):
        low = min(int(array.min()) for array in whole)
        high = max(int(array.max()) for array in whole)
        if high - low < _COMPACT:
            # Small numbers already: no need to sort them to tell them apart.
            wide = np.int64 if high < 2**63 else np.uint64  # in its own type low may wrap around
            codes = [(array.astype(wide) - wide(low)).astype(np.intp) for array in whole]
            return codes, np.arange(low, high + 1)
    if "O" in kinds or len(kinds) > 1:
        # Side by side numpy would make floats of integers; Python compares them exactly.
        lists = [array.ravel().tolist() for array in whole]
        categories = sorted(set(itertools.chain.from_iterable(lists)))
        number = dict(zip(categories, itertools.count()))
        flat = np.concatenate([[number[label] for label in labels] for labels in lists])
    else:
        joined = np.concatenate([array.ravel() for array in whole])
        categories, flat = np.unique(joined, return_inverse=True)
    ends = np.cumsum([array.size for array in whole])[:-1]
    parts = np.split(flat.reshape(-1), ends)
    codes = [part.reshape(array.shape) for part, array in zip(parts, whole, strict=True)]
    return codes, categories


def _whole(array):
    """Floats as integers where all of them are, which are faster to tell apart."""
    if array.dtype.kind != "f" or np.abs(array).max() > LARGEST_EXACT_INTEGER:
        return array
    whole = array.astype(np.int64)
    return whole if (whole == array).all() else array
