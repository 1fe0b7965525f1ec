"""Relevance grades in the order of rank, with ties resolved."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._rankings.ranked import take_rows
from pqpp_metrics.functional._types import Array, Floats, Integers

# Grades up to this are packed into the lowest bits of a score, to sort both at once.
LARGEST_PACKED = 15
_LARGEST_EXACT = 2.0**53


def gains_by_rank(xp: ModuleType, scores: Array, gains: Array, ties: str) -> Array:
    """Grades, float64 (queries, documents), in the order of rank.

    With "expected" every document of a tie gets the tie's mean grade.
    """
    if ties == "order":
        order = xp.argsort(-scores, axis=1, stable=True)
        return xp.take_along_axis(gains, order, axis=1)
    if ties in ("optimistic", "pessimistic"):
        first = xp.argsort(-gains if ties == "optimistic" else gains, axis=1, stable=True)
        gains = xp.take_along_axis(gains, first, axis=1)
        scores = xp.take_along_axis(scores, first, axis=1)
        order = xp.argsort(-scores, axis=1, stable=True)
        return xp.take_along_axis(gains, order, axis=1)
    ranked, groups = ranked_groups(xp, scores, gains)
    if groups is None:
        return ranked
    rows, group = groups
    means = group.gain / xp.astype(group.size, xp.float64)
    ranked[rows, :] = means
    return ranked


class TieGroups:
    """For each rank of some queries, the group of equal scores that its document belongs to.

    Attributes are arrays (queries, documents): `size` documents in the group, `start` the number
    of documents ranked before it, `gain` its total grade, `gain_before` that of all before it.
    """

    def __init__(self, xp: ModuleType, scores: Array, gains: Array) -> None:
        """Find the groups in scores in falling order; the grades are in the same order."""
        queries, documents = scores.shape
        begins = scores[:, 1:] != scores[:, :-1]
        first = xp.ones_like(begins[:, :1]) if documents > 1 else scores[:, :1] == scores[:, :1]
        begins = xp.reshape(xp.concat([first, begins], axis=1), (-1,))
        starts = xp.nonzero(begins)[0]
        end = xp.asarray([queries * documents], dtype=starts.dtype)
        end = xp.asarray(end, device=array_api_compat.device(starts))
        number = xp.cumulative_sum(xp.astype(begins, starts.dtype)) - 1
        from_ = xp.take(starts, number)
        last = xp.take(xp.concat([starts[1:], end]), number) - 1
        # Sums along one query only: over all queries they would lose digits.
        total = xp.reshape(xp.cumulative_sum(gains, axis=1), (-1,))
        before = xp.take(total, from_) - xp.take(xp.reshape(gains, (-1,)), from_)
        gain = xp.take(total, last) - before
        shape = (queries, documents)
        self.size = xp.reshape(last - from_ + 1, shape)
        self.start = xp.reshape(from_ % documents, shape)
        self.gain = xp.reshape(gain, shape)
        self.gain_before = xp.reshape(before, shape)


def ranked_groups(
    xp: ModuleType, scores: Array, gains: Array
) -> tuple[Array, tuple[Array, TieGroups] | None]:
    """Grades by rank, tied documents in any order, and the groups of the queries with ties.

    Returns:
        Grades, (queries, documents); None, or the indices of the queries that have ties and their
        `TieGroups`.
    """
    order = xp.argsort(-scores, axis=1, stable=False)
    ranked = xp.take_along_axis(gains, order, axis=1)
    scores = xp.take_along_axis(scores, order, axis=1)
    rows = xp.nonzero(xp.any(scores[:, 1:] == scores[:, :-1], axis=1))[0]
    if not rows.shape[0]:
        return ranked, None
    return ranked, (rows, TieGroups(xp, *take_rows(xp, rows, scores, ranked)))


class PackedGrades:
    """Small integer grades of numpy by rank, by one sort of numbers.

    The grade, 0 to 15, takes the place of a score's lowest bits.

    Attributes:
        ordered: Grades (queries, documents) as bytes, the first rank first.
        unclear: Indices of the queries with ties or almost ties: documents whose scores are equal
            in the other bits come out in an order that means nothing.
    """

    def __init__(self, scores: Floats, grades: Integers) -> None:
        low = np.int64((1 << max(int(grades.max()).bit_length(), 1)) - 1)
        packed = scores + 0.0  # a copy, in which -0.0 is 0.0
        keys = packed.view(np.int64)
        keys &= ~low
        keys |= grades.astype(np.int64, copy=False)
        packed.sort(axis=1)
        self.ordered = keys.astype(np.uint8)[:, ::-1] & np.uint8(low)
        keys = packed.view(np.uint64)
        alike = (keys[:, 1:] ^ keys[:, :-1]) <= np.uint64(low)
        self.unclear = np.flatnonzero(alike.any(axis=1) if alike.any() else [])


def as_integers(grades: NDArray[Any]) -> NDArray[Any]:
    """Numpy grades as integers, if they are whole numbers of a size that integers hold."""
    if grades.dtype.kind != "f" or (grades.size and float(grades.max()) > _LARGEST_EXACT):
        return grades
    whole = grades.astype(np.int64)
    return whole if (whole == grades).all() else grades
