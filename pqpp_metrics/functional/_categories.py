"""Labels of any kind: checked, of their own type to the last digit, and as category numbers."""

import itertools
import numbers
import operator
import sys
import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Integers, Values, to_numpy, unwrapped

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
        raise _inputs.wrong_shape(name, array, f"it must have {ndim} dimension(s)")
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
        raise _inputs.ragged_rows(name)
    return array


def _of_one_kind(name, labels):
    """An array of some labels, in the smallest type that keeps them as they are."""
    kinds, fractions = set(map(type, labels)), (float, np.floating)

    def are(*allowed):
        return all(issubclass(kind, allowed) for kind in kinds)

    if are(str) or are(uuid.UUID):
        return objects(labels)
    if are(bool, np.bool_):
        return np.array(labels, dtype=bool)
    if are(numbers.Integral, np.bool_):
        return integers(labels)
    if not are(numbers.Integral, np.bool_, *fractions):
        came = ", ".join(sorted(kind.__name__ for kind in kinds))
        mixed = are(str, numbers.Integral, *fractions) and "mixes text and numbers:"
        raise MetricInputError(
            f"`{name}` {mixed or 'holds'} {came}; give all text or all numbers, none missing"
        )
    whole = [label for label in labels if isinstance(label, numbers.Integral)]
    if all(abs(label) <= _inputs.LARGEST_EXACT_INTEGER for label in whole):
        return np.array(labels, dtype=np.float64)
    _require_finite(name, np.array([label for label in labels if isinstance(label, fractions)]))
    return objects(labels)


def _require_finite(name, fractions):
    if not np.isfinite(fractions).all():
        raise MetricInputError(f"`{name}` holds NaN or infinite labels; drop those items first")


def kind_of(labels: NDArray[Any]) -> str:
    """What an array from `as_labels` holds: "text", "UUIDs" or "numbers"."""
    first = labels.flat[0] if labels.dtype == object else 0
    kinds = {"text": str, "UUIDs": uuid.UUID}
    return next((word for word, kind in kinds.items() if isinstance(first, kind)), "numbers")


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
    categories: Sequence[Any] | NDArray[Any]
    whole = [_whole(array) for array in arrays]
    kinds = {array.dtype.kind for array in whole}
    if kinds <= set("iub"):
        low, high = min(int(a.min()) for a in whole), max(int(a.max()) for a in whole)
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
        flat = np.array([number[label] for labels in lists for label in labels])
    else:
        joined = np.concatenate([array.ravel() for array in whole])
        categories, flat = np.unique(joined, return_inverse=True)
    parts = np.split(flat.reshape(-1), np.cumsum([array.size for array in whole])[:-1])
    return [part.reshape(a.shape) for part, a in zip(parts, whole, strict=True)], categories


def _whole(array):
    """Floats as integers where all of them are, which are faster to tell apart."""
    if array.dtype.kind != "f" or np.abs(array).max() > _inputs.LARGEST_EXACT_INTEGER:
        return array
    whole = array.astype(np.int64)
    return whole if (whole == array).all() else array


# How many neighbours are compared to guess whether equal ids stand together.
_PROBE = 256


def group_codes(name: str, ids: Any) -> tuple[NDArray[Any], Integers]:
    """Number the distinct ids, all strings, all integers or all UUIDs, by first appearance.

    Returns:
        The distinct ids as a numpy array (of objects, but for integers of 64 bits), and the
        number of each row's id (numpy integers).

    Raises:
        MetricInputError: no ids, more than one dimension, or ids that are none of these.
    """
    if isinstance(ids, (str, bytes)):
        raise MetricInputError(f"`{name}` is a single string; give one id for each row")
    ids = to_numpy(unwrapped(name, ids))
    if not isinstance(ids, (list, tuple, np.ndarray)):
        raise _inputs.not_allowed(name, ids, "give one id for each row")
    if isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise _inputs.wrong_shape(name, ids, "it must have 1 dimension")
        if ids.dtype.kind in "iu" and ids.size:
            return number_integers(ids)
        ids = ids.tolist()
    if not ids:
        raise MetricInputError(f"`{name}` is empty; give one id for each row")
    if isinstance(ids[0], str):
        return _number_strings(name, ids)
    kinds = set(map(type, ids))
    if all(issubclass(kind, numbers.Integral) and kind is not bool for kind in kinds):
        whole = integers(ids)
        return _number_by_dictionary(whole) if whole.dtype == object else number_integers(whole)
    if kinds != {uuid.UUID}:
        raise _other_ids(name, ids)
    return _number_by_dictionary(ids)


def _other_ids(name, ids):
    """The error for ids of other kinds, or of several."""
    kinds = ", ".join(sorted({type(label).__name__ for label in ids}))
    return MetricInputError(
        f"`{name}` holds {kinds}; give all strings, all integers or all UUIDs, none missing"
    )


def _number_strings(name, ids):
    """Number strings; where equal ones stand together, only the first of each run."""
    probe = ids[: _PROBE + 1]
    if 2 * sum(map(operator.ne, probe[1:], probe)) > len(probe):
        return _number_by_arrow(name, ids)
    array = np.fromiter(ids, dtype=object, count=len(ids))
    starts_run = np.ones(len(ids), dtype=bool)
    try:
        starts_run[1:] = array[1:] != array[:-1]
    except ValueError:  # an array among them
        raise _other_ids(name, ids) from None
    heads, runs = array[starts_run].tolist(), np.cumsum(starts_run) - 1
    # Nothing but a string equals a string, so the first of each run tells the type of all.
    _require_strings(name, heads)
    if len(set(heads)) == len(heads):
        return array[starts_run], runs
    distinct, codes = _number_by_arrow(name, heads)
    return distinct, codes[runs]


def _number_by_arrow(name, ids):
    """Number strings as Arrow encodes them, by first appearance, if it is imported anyway."""
    arrow = sys.modules.get("pyarrow")
    try:
        encoded = arrow and arrow.array(ids).dictionary_encode()
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, UnicodeEncodeError):
        encoded = None  # no strings, or half a character, which has no place in UTF-8
    if not isinstance(encoded, arrow.DictionaryArray if arrow else ()):
        _require_strings(name, ids)
        return _number_by_dictionary(ids)
    if encoded.null_count or not arrow.types.is_string(encoded.type.value_type):
        raise _other_ids(name, ids)
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
    return distinct, encoded.indices.to_numpy().astype(np.intp)


def _require_strings(name, ids):
    if not all(issubclass(kind, str) for kind in set(map(type, ids))):
        raise _other_ids(name, ids)


def _number_by_dictionary(ids):
    """Number ids in one pass: one that is not known yet gets the next number."""
    numbered = defaultdict()
    numbered.default_factory = numbered.__len__
    codes = np.fromiter(map(numbered.__getitem__, ids), np.intp, len(ids))
    return np.fromiter(numbered, dtype=object, count=len(numbered)), codes


def number_integers(ids: Integers) -> tuple[Integers, Integers]:
    """Number an array of integers: through a table where their range is small, else by sorting."""
    rows = np.arange(len(ids))
    lowest, highest = int(ids.min()), int(ids.max())
    if highest - lowest > 4 * len(ids) + 1024:
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        first_row = first[inverse]
    else:
        ids = ids if ids.dtype == np.uint64 else ids.astype(np.int64, copy=False)
        offset = (ids - ids.dtype.type(lowest)).astype(np.intp)
        table = np.empty(highest - lowest + 1, dtype=np.intp)
        # Of several writes to one place the last stays: going backwards, the first appearance.
        table[offset[::-1]] = rows[::-1]
        first_row = table[offset]
    starts_group = first_row == rows
    return ids[starts_group], (np.cumsum(starts_group) - 1)[first_row]
