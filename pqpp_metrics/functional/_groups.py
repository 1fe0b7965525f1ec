"""Numbering of groups: which rows belong to the same prompt, query or model."""

from collections import defaultdict

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import to_numpy

# How many neighbours are compared to guess whether equal ids stand together.
_PROBE = 256


def group_codes(name, ids):
    """Number the distinct ids, all strings or all integers, in order of first appearance.

    Returns:
        The distinct ids as a numpy array (of objects where strings came in a list), and the
        number of each row's id (numpy integers).

    Raises:
        MetricInputError: no ids, more than one dimension, or ids that are neither.
    """
    if isinstance(ids, (str, bytes)):
        raise MetricInputError(f"`{name}` is a single string; give one id for each row")
    ids = _as_vector(name, ids)
    if len(ids) == 0:
        raise MetricInputError(f"`{name}` is empty; give one id for each row")
    if ids.dtype.kind in "iu":
        return _number_integers(ids)
    if isinstance(ids[0], str):
        try:
            return _number_strings(name, ids)
        except TypeError:  # not hashable, so no string
            _refuse_kinds(name, ids)
    kinds = set(map(type, ids))
    if any(not issubclass(kind, (int, np.integer)) or kind is bool for kind in kinds):
        _refuse_kinds(name, ids)
    return _number_integers(np.asarray(ids.tolist()))


def _as_vector(name, ids):
    """Return ids as a numpy array of one dimension; a list as an array of its very objects."""
    if isinstance(ids, (list, tuple)):
        return np.fromiter(ids, dtype=object, count=len(ids))
    ids = to_numpy(ids) if hasattr(ids, "detach") else np.asarray(ids)
    if ids.ndim != 1:
        raise MetricInputError(f"`{name}` has shape {ids.shape}; it must have 1 dimension")
    return ids


def _refuse_kinds(name, ids):
    found = ", ".join(sorted({type(one).__name__ for one in ids}))
    raise MetricInputError(f"`{name}` holds {found}; give all strings or all integers")


def _number_strings(name, ids):
    """Number an array of strings; where equal ids stand together, only the first of each run."""
    probe = ids[: _PROBE + 1]
    if 2 * np.count_nonzero(probe[1:] != probe[:-1]) > len(probe):
        return _number_by_dictionary(name, ids)
    starts_run = np.ones(len(ids), dtype=bool)
    starts_run[1:] = ids[1:] != ids[:-1]
    heads, runs = ids[starts_run], np.cumsum(starts_run) - 1
    if len(set(heads.tolist())) == len(heads):
        _require_strings(name, heads)
        return heads, runs
    distinct, codes = _number_by_dictionary(name, heads)
    return distinct, codes[runs]


def _number_by_dictionary(name, ids):
    """Number an array of strings in one pass: an id that is not known yet gets the next number."""
    numbers = defaultdict()
    numbers.default_factory = numbers.__len__
    codes = np.fromiter(map(numbers.__getitem__, ids.tolist()), np.intp, len(ids))
    # Nothing but a string equals a string, so the distinct ids tell the type of all.
    distinct = np.fromiter(numbers, dtype=ids.dtype, count=len(numbers))
    _require_strings(name, distinct)
    return distinct, codes


def _require_strings(name, ids):
    if any(not issubclass(kind, str) for kind in set(map(type, ids.tolist()))):
        _refuse_kinds(name, ids.tolist())


def _number_integers(ids):
    """Number integers, through a table where their range is compact, else by sorting."""
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
