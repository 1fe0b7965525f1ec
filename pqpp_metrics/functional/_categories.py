"""Labels of any kind: checked, of their own type to the last digit, and as category numbers."""

import contextlib
import itertools
import numbers
import sys
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Integers, Values, to_numpy, unwrapped

# Integer labels in a range this wide are counted directly; wider ones are sorted first.
_COMPACT = 4096
# So many values show whether a column has few distinct ones.
_PROBE = 256


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


def label_codes(
    ndim: int, **columns: Values
) -> tuple[list[Integers], Sequence[Any] | NDArray[Any]]:
    """Check labels, columns or tables, and number the categories of all together.

    Returns:
        As `category_codes`.

    Raises:
        MetricInputError: as `as_labels`; shapes or kinds that differ.
    """
    given = {name: text_codes(values) for name, values in columns.items() if ndim == 1}
    texts = {name: text for name, text in given.items() if text}
    if len(texts) == len(columns):
        _inputs.require_alike(True, **{name: text.codes for name, text in texts.items()})
        distinct = [text.distinct.tolist() for text in texts.values()]
        categories = sorted(set(itertools.chain.from_iterable(distinct)))
        number = dict(zip(categories, itertools.count()))
        places = [np.array([number[label] for label in own]) for own in distinct]
        pairs = zip(places, texts.values(), strict=True)
        return [own[text.codes] for own, text in pairs], categories
    arrays = {name: as_labels(name, values, ndim) for name, values in columns.items()}
    _inputs.require_alike(True, **arrays)
    kinds = [kind_of(array) for array in arrays.values()]
    if len(set(kinds)) > 1:
        came = f"one side holds {kinds[0]} and the other {kinds[1]}"
        raise MetricInputError(f"{came}; give both alike")
    return category_codes(*arrays.values())


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
        labels = itertools.chain.from_iterable(lists)
        flat = np.fromiter(map(number.__getitem__, labels), np.intp)
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


@dataclass(frozen=True)
class Encoded:
    """A column as its distinct values, by first appearance, and the number of each row's.

    What takes a column of ids takes one that is encoded already.
    """

    distinct: NDArray[Any]
    codes: Integers

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.distinct[self.codes]


def group_codes(name: str, ids: Any) -> Encoded:
    """Number the distinct ids, all strings, all integers or all UUIDs, by first appearance.

    Returns:
        The distinct ids as a numpy array (of objects, but for integers of 64 bits), and the
        number of each row's id (numpy integers).

    Raises:
        MetricInputError: no ids, more than one dimension, or ids that are none of these.
    """
    if isinstance(ids, Encoded):
        return ids
    if isinstance(ids, (str, bytes)):
        raise MetricInputError(f"`{name}` is a single string; give one id for each row")
    if texts := text_codes(ids):
        return texts
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
    if texts := text_codes(ids):
        return texts
    kinds = set(map(type, ids))
    if all(issubclass(kind, numbers.Integral) and kind is not bool for kind in kinds):
        whole = integers(ids)
        return _number_by_dictionary(whole) if whole.dtype == object else number_integers(whole)
    if kinds != {uuid.UUID}:
        came = ", ".join(sorted(kind.__name__ for kind in kinds))
        wanted = "give all strings, all integers or all UUIDs, none missing"
        raise MetricInputError(f"`{name}` holds {came}; {wanted}")
    return _number_by_dictionary(ids)


def text_codes(values: Any) -> Encoded | None:
    """Number the distinct strings of a column of any library; None where it holds other things.

    What Arrow, pandas, polars or datasets hold stays there: only distinct strings become Python's.
    """
    if isinstance(getattr(values, "dtype", None), np.dtype) and hasattr(values, "to_numpy"):
        values = values.to_numpy()  # of a series of pandas that is one of numpy's arrays
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.dtype.kind in "UO" and values.ndim == 1 else None
    if not isinstance(values, (list, tuple)):
        column = arrow_column(values)
        return None if column is None else _encoded_by_arrow(column)
    if not values or not isinstance(values[0], str):
        return None
    try:
        few = len(set(values[:_PROBE])) < _PROBE // 8  # which are looked up faster than encoded
        if (arrow := sys.modules.get("pyarrow")) and not few:
            # Half a character has no place in UTF-8; other things than strings fail, or show.
            with contextlib.suppress(arrow.ArrowInvalid, arrow.ArrowTypeError, UnicodeEncodeError):
                return _encoded_by_arrow(arrow.array(values))
        codes = _number_by_dictionary(values)
    except TypeError:  # what holds values has no hash
        return None
    # Nothing but a string equals a string, so the distinct ones tell the type of all.
    return codes if all(map(str.__instancecheck__, codes.distinct)) else None


def arrow_column(values: Any) -> Any:
    """A column of Arrow, polars, datasets, or of pandas where it is no array of numpy, as Arrow's.

    None for all else.
    """
    if hasattr(values, "dictionary_encode"):
        return values
    if getattr(values, "ndim", 1) != 1:
        return None
    array = getattr(values, "array", values)
    with contextlib.suppress(Exception):  # each library has its own for what Arrow cannot hold
        if hasattr(values, "column_name") and hasattr(values.source, "with_format"):
            return type(values)(values.source.with_format("arrow"), values.column_name)[:]
        if hasattr(values, "to_arrow") and hasattr(values, "dtype"):
            return values.to_arrow()
        if hasattr(array, "__arrow_array__") or hasattr(array, "categories"):
            import pyarrow

            return pyarrow.array(array)
    return None


def text_column(values: Any) -> Any:
    """A column of strings of any library, none missing, as one of Arrow; None for all else."""
    import pyarrow

    column = None
    if not isinstance(values, (list, tuple, np.ndarray)):
        column = arrow_column(values)
    else:
        with contextlib.suppress(pyarrow.ArrowException, ValueError):
            column = pyarrow.array(values)
    return column if column is not None and _holds_text(column) else None


def _holds_text(column):
    """Whether a column of Arrow, encoded or not, holds strings, none missing."""
    kind = getattr(column.type, "value_type", column.type)
    return not column.null_count and str(kind) in ("string", "large_string", "string_view")


def _encoded_by_arrow(column):
    """A column of Arrow as `Encoded` where it holds strings, none missing; else None."""
    import pyarrow

    if not _holds_text(column):
        return None
    is_encoded = pyarrow.types.is_dictionary(column.type)
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries() if is_encoded else column.dictionary_encode()
        column = column.combine_chunks()
    elif not is_encoded:
        column = column.dictionary_encode()
    codes = column.indices.to_numpy().astype(np.intp)
    if not is_encoded or not len(codes):
        return Encoded(column.dictionary.to_numpy(zero_copy_only=False), codes)
    if len(column.dictionary.unique()) < len(column.dictionary):
        return None
    used = number_integers(codes)  # categories may be unused, and have an order of their own
    distinct = column.dictionary.to_numpy(zero_copy_only=False)[used.distinct]
    return Encoded(distinct, used.codes)


def _number_by_dictionary(ids):
    """Number ids in one pass: one that is not known yet gets the next number."""
    numbered = defaultdict()
    numbered.default_factory = numbered.__len__
    codes = np.fromiter(map(numbered.__getitem__, ids), np.intp, len(ids))
    return Encoded(np.fromiter(numbered, dtype=object, count=len(numbered)), codes)


def number_integers(ids: Integers) -> Encoded:
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
    return Encoded(ids[starts_group], (np.cumsum(starts_group) - 1)[first_row])
