"""Numbering of groups: which rows belong to the same prompt, query or model."""

from __future__ import annotations

import numbers
import operator
import sys
import uuid
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._categories import integers
from pqpp_metrics.functional._containers import to_numpy, unwrapped
from pqpp_metrics.functional._inputs import brief
from pqpp_metrics.functional._types import Integers, Values

# How many neighbours are compared to guess whether equal ids stand together.
_PROBE = 256


def group_codes(name: str, ids: Values) -> tuple[NDArray[Any], Integers]:
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
        raise MetricInputError(f"`{name}` is {brief(ids)}; give one id for each row")
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise MetricInputError(f"`{name}` has shape {ids.shape}; it must have 1 dimension")
    if len(ids) == 0:
        raise MetricInputError(f"`{name}` is empty; give one id for each row")
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return number_integers(ids)
    ids = ids.tolist() if isinstance(ids, np.ndarray) else ids
    if isinstance(ids[0], str):
        return _number_strings(name, ids)
    kinds = set(map(type, ids))
    if all(issubclass(kind, numbers.Integral) and kind is not bool for kind in kinds):
        whole = integers(ids)
        return _number_by_dictionary(whole) if whole.dtype == object else number_integers(whole)
    if kinds != {uuid.UUID}:
        _refuse(name, kinds)
    return _number_by_dictionary(ids)


def _refuse(name, kinds):
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise MetricInputError(
        f"`{name}` holds {found}; give all strings, all integers or all UUIDs, none missing"
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
        _refuse(name, set(map(type, ids)))
    heads, runs = array[starts_run], np.cumsum(starts_run) - 1
    # Nothing but a string equals a string, so the first of each run tells the type of all.
    listed = heads.tolist()
    _require_strings(name, listed)
    if len(set(listed)) == len(listed):
        return heads, runs
    distinct, codes = _number_by_arrow(name, listed)
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
        _refuse(name, set(map(type, ids)))
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
    return distinct, encoded.indices.to_numpy().astype(np.intp)


def _require_strings(name, ids):
    kinds = set(map(type, ids))
    if not all(issubclass(kind, str) for kind in kinds):
        _refuse(name, kinds)


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
        if ids.dtype != np.uint64:
            ids = ids.astype(np.int64, copy=False)
        offset = (ids - ids.dtype.type(lowest)).astype(np.intp)
        table = np.empty(highest - lowest + 1, dtype=np.intp)
        # Of several writes to one place the last stays: going backwards, the first appearance.
        table[offset[::-1]] = rows[::-1]
        first_row = table[offset]
    starts_group = first_row == rows
    return ids[starts_group], (np.cumsum(starts_group) - 1)[first_row]
