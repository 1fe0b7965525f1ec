"""The names of documents, by which trec_eval orders equal scores, and rows of different lengths."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._categories import integers
from pqpp_metrics.functional._containers import to_numpy, unwrapped
from pqpp_metrics.functional._inputs import as_array
from pqpp_metrics.functional._types import Array, Values


def by_document(xp: ModuleType, scores: Array, document_ids: Values | None) -> Array:
    """Scores without ties: of equals the document with the higher number is the higher.

    Text is compared byte by byte, as trec_eval does, integers as numbers.
    """
    plain = to_numpy(scores).astype(np.float64)
    ids = _checked_ids(document_ids, plain.shape)
    ordered = np.sort(plain, axis=1)
    rows = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if not len(rows):
        return scores
    # UTF-8 bytes sort as the characters that they stand for.
    numbers = np.unique(ids[rows], return_inverse=True)[1].reshape(len(rows), -1)
    order = np.lexsort((numbers, plain[rows]), axis=1)
    _refuse_repeated(ids[rows], numbers, plain[rows], order)
    places = np.argsort(order, axis=1, kind="stable")
    plain[rows] = places
    return xp.asarray(plain, device=array_api_compat.device(scores))


def _refuse_repeated(ids, numbers, scores, order):
    """Raise for a name that two documents of equal scores have; rows are filled up with blanks."""
    same = np.ones_like(order[:, 1:], dtype=bool)
    for key in (numbers, scores):
        ordered = np.take_along_axis(key, order, axis=1)
        same &= ordered[:, 1:] == ordered[:, :-1]
    again = np.take_along_axis(ids, order, axis=1)[:, 1:][same]
    if again.astype(bool).any():
        name = again[again.astype(bool)][0].item()
        raise MetricInputError(f"`document_ids` holds {name!r} twice in a query; keep one")


def _checked_ids(ids, shape):
    """Names of documents as a numpy array of text or integers, in the shape of the scores."""
    ids = unwrapped("document_ids", ids)
    lengths = lengths_of_rows(ids)
    if lengths and len(set(lengths)) > 1:
        blank = type(next(row[0] for row in ids if len(row)))()
        ids = [[*row, *[blank] * (max(lengths) - len(row))] for row in ids]
    if lengths:
        ids = np.array([list(row) for row in ids], dtype=object)  # text and numbers stay apart
    ids = to_numpy(as_array("document_ids", ids))
    if ids.dtype == object:
        if all(isinstance(one, str) for one in ids.flat):
            ids = ids.astype(str)
        elif all(isinstance(one, (int, np.integer)) for one in ids.flat):
            ids = integers(ids.ravel().tolist()).reshape(ids.shape)
    if ids.dtype.kind not in "Uiu":
        raise MetricInputError(
            "`document_ids` must be all text or all integers of 64 bits; give one kind"
        )
    if ids.shape != shape:
        raise MetricInputError(
            f"shapes differ: `document_ids` {ids.shape} and `scores` {shape}; name every document"
        )
    return ids


def lengths_of_rows(value: Any) -> list[int] | None:
    """The lengths of rows that are sequences or arrays of their own; None for anything else."""
    if array_api_compat.is_array_api_obj(value) and str(value.dtype) != "object":
        return None
    try:
        return [len(row) for row in value]
    except TypeError:
        return None
