"""Grades by rank in numpy, and group by group where the order of equal scores is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._inputs import to_numpy
from pqpp_metrics.functional._rankings.inputs import RankingInputs
from pqpp_metrics.functional._types import Array, Floats


def of_ranks(
    given: RankingInputs,
    priority: Array,
    of_ranked: Callable[..., Floats],
    of_groups: Callable[..., float],
    *totals: Array,
) -> Array:
    """Values of queries from their grades by rank, with ties resolved.

    Args:
        given: `RankingInputs` of any library.
        priority: What comes first among equals under "optimistic", (queries, documents).
        of_ranked: From grades by rank, (queries, documents), and totals to values (queries,).
        of_groups: From one query's grades, a list of arrays of equals by rank, and its totals to
            the expected value over all orders of equals.
        totals: Arrays (queries,).

    Returns:
        float64 array (queries,) in the library of `given`.
    """
    scores, grades = (to_numpy(part) for part in (given.scores, given.relevance))
    sums = [np.asarray(to_numpy(total)) for total in totals]
    falling = -scores.astype(np.float64)
    if given.ties in ("optimistic", "pessimistic"):
        first = to_numpy(priority).astype(np.float64)
        order = np.lexsort((-first if given.ties == "optimistic" else first, falling), axis=1)
    else:
        order = np.argsort(falling, axis=1, kind="stable")
    ranked = np.take_along_axis(grades, order, axis=1)
    values = of_ranked(ranked, *sums).astype(np.float64)
    if given.ties == "expected":
        falling = np.take_along_axis(falling, order, axis=1)
        begins = falling[:, 1:] != falling[:, :-1]
        codes = np.nan_to_num(ranked, nan=-2)
        # Equals that are alike have one order as far as a metric sees.
        for row in np.flatnonzero((~begins & (codes[:, 1:] != codes[:, :-1])).any(axis=1)):
            groups = np.split(ranked[row], np.flatnonzero(begins[row]) + 1)
            values[row] = of_groups(groups, *(total[row] for total in sums))
    return given.xp.asarray(values, device=array_api_compat.device(given.scores))


def share(values: NDArray[Any], numbers: NDArray[Any]) -> Floats:
    """Values of a number, 0 of none; numpy."""
    return np.where(numbers > 0, values / np.maximum(numbers, 1), 0.0)
