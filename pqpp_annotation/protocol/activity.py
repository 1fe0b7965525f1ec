"""How long people were at work: what payment by the hour is reckoned from."""

from __future__ import annotations

import numpy as np

_MINUTE = 60_000


def active_seconds(
    person: np.ndarray, created: np.ndarray, is_away: np.ndarray, gap_minutes: float
) -> dict[int, float]:
    """Return how long each person was at work.

    It is the sum of the times between what happened one after another (events, items opened,
    answers), without those longer than the gap and those that begin with going away.

    Args:
        person: int64 (moments,), to whom something happened, in any order.
        created: int64 (moments,), when, in milliseconds.
        is_away: bool (moments,), whether it was going away.
        gap_minutes: A longer pause is not counted at all.

    Example:
        >>> created = np.array([0, 60_000, 90_000, 900_000, 910_000])
        >>> active_seconds(np.ones(5, int), created, np.zeros(5, bool), 2)
        {1: 100.0}
    """
    order = np.lexsort((created, person))
    person, created, is_away = person[order], created[order], is_away[order]
    passed = np.diff(created)
    counts = (np.diff(person) == 0) & ~is_away[:-1] & (passed <= gap_minutes * _MINUTE)
    ids, code = np.unique(person, return_inverse=True)
    total = np.bincount(code[1:], np.where(counts, passed, 0), len(ids))
    return dict(zip(ids.tolist(), (total / 1000).tolist(), strict=True))
