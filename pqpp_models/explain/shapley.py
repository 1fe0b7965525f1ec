"""Shapley values: how a value of all players is shared among them, exactly or from samples.

Shapley, "A value for n-person games" (1953). Sampling by whole permutations (Castro, Gómez and
Tejada, 2009) keeps the sum exact: along each of them the steps add up to the value of all.
Permutations come in pairs, one the other's reverse, which lowers the variance (Mitchell, Cooper,
Frank and Holmes, "Sampling permutations for Shapley value estimation", JMLR 2022).
"""

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT = 8
"""Up to so many players all 2^n coalitions are asked; beyond, permutations are sampled."""

_STEPS, _FEWEST_PAIRS = 512, 8


@dataclass(frozen=True)
class Design:
    """Which coalitions are asked, and how their values are shared out.

    Attributes:
        members: Shape ``(coalitions, players)``; none is empty, and the last one has all players.
        order: The sampled permutations, shape ``(permutations, players)``, a pair in neighbouring
            rows; None where all coalitions are asked.
        places: Of each step of `order`, the coalition that it ends in.
    """

    members: NDArray[np.bool_]
    order: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None

    @property
    def permutations(self) -> int:
        """How many were sampled, 0 where the values are exact."""
        return 0 if self.order is None else len(self.order)

    def share(self, values: Floats, base: float) -> tuple[Floats, Floats]:
        """Return each player's share, and its standard error: 0 where it is exact.

        Args:
            values: One a coalition.
            base: The value of the empty coalition.

        >>> design(2).share(np.array([1.0, 2.0, 5.0]), 0.0)
        (array([2., 3.]), array([0., 0.]))
        """
        players = self.members.shape[1]
        if self.order is None:
            shares = _weights(self.members) @ values - base / players
            return shares, np.zeros(players)
        reached = values[self.places]
        steps = np.diff(reached, axis=1, prepend=base)
        by_player = np.empty_like(steps)
        np.put_along_axis(by_player, self.order, steps, axis=1)
        pairs = (by_player[::2] + by_player[1::2]) / 2
        return pairs.mean(axis=0), pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))


def _weights(members: NDArray[np.bool_]) -> Floats:
    """Return what each coalition's value counts in each player's share."""
    players = members.shape[1]
    with_it = np.array([0] + [1 / (players * comb(players - 1, k)) for k in range(players)])
    sizes = members.sum(axis=1)
    return np.where(members, with_it[sizes][:, None], -np.append(with_it[1:], 0)[sizes][:, None]).T


@lru_cache(maxsize=256)
def design(players: int, permutations: int = 0, seed: int = 0) -> Design:
    """Return the coalitions to ask for a number of players, at most 64.

    Args:
        players: At least 1.
        permutations: How many are sampled beyond `EXACT` players, an even number; 0 for as
            many as make about 512 steps, and 16 at least.
        seed: Of the sampling.

    >>> design(3).members.shape, design(10).permutations, design(10).members.shape[1]
    ((7, 3), 52, 10)
    """
    bits = np.uint64(1) << np.arange(players, dtype=np.uint64)
    if players <= EXACT:
        return Design((np.arange(1, 2**players, dtype=np.uint64)[:, None] & bits) > 0)
    pairs = permutations // 2 or max(_FEWEST_PAIRS, _STEPS // (2 * players) + 1)
    rng = np.random.default_rng([seed, players])
    forward = rng.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    order = np.stack([forward, forward[:, ::-1]], axis=1).reshape(2 * pairs, players)
    masks = np.bitwise_or.accumulate(bits[order], axis=1)
    unique, places = np.unique(masks, return_inverse=True)
    return Design((unique[:, None] & bits) > 0, order, places.reshape(order.shape))
