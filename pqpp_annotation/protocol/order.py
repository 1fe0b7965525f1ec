"""Random orders of items, one per person, and the positions of control items.

Orders depend on the study's seed and the ids only: they are the same after a restart and on another
machine, and added prompts do not change the order of earlier ones.
"""

import hashlib
from collections.abc import Iterable


def shuffle_ids(ids: Iterable[int], *seeds: object) -> list[int]:
    """Return ids in a random order.

    Args:
        ids: The ids, in any order.
        seeds: Values that determine the random order, such as the study's seed and a person's id.

    Example:
        >>> shuffle_ids(range(6), 0, "items", 1), shuffle_ids(range(6), 0, "items", 2)
        ([1, 2, 0, 5, 3, 4], [5, 0, 3, 4, 2, 1])
    """
    start = _hash_seeds(seeds)

    def hash_id(number: int) -> bytes:
        state = start.copy()
        state.update(b"%d" % number)
        return state.digest()

    return sorted(ids, key=hash_id)


def is_control_at(position: int, every: int, *seeds: object) -> bool:
    """Return whether a position in a person's order has a control item.

    Each group of `every` positions has one control item at a random position.

    Args:
        position: The position, from 0.
        every: Number of positions with one control item.
        seeds: Values that determine the random positions.

    Example:
        >>> [position for position in range(18) if is_control_at(position, 6, 0, 1)]
        [2, 6, 16]
    """
    group, slot = divmod(position, every)
    return int.from_bytes(_hash_seeds((*seeds, "group", group)).digest(), "big") % every == slot


def _hash_seeds(seeds: tuple[object, ...]):
    return hashlib.blake2b(repr(seeds).encode(), digest_size=8)
