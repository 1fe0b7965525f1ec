"""Each person's own random order, and the positions of control items in it.

Orders come from the study's seed and the ids alone, so that they are the same after a restart, on
another machine, and when prompts are added: the old ones keep their order.
"""

import hashlib
from collections.abc import Iterable


def shuffle(ids: Iterable[int], *seeds: object) -> list[int]:
    """Return ids in a random order.

    Args:
        ids: They need not be in any order.
        seeds: Values that determine the order, like the study's seed and a person's id.

    Example:
        >>> shuffle(range(6), 0, "items", 1), shuffle(range(6), 0, "items", 2)
        ([1, 2, 0, 5, 3, 4], [5, 0, 3, 4, 2, 1])
    """
    start = _hash(seeds)

    def key(number: int) -> bytes:
        own = start.copy()
        own.update(b"%d" % number)
        return own.digest()

    return sorted(ids, key=key)


def is_control(position: int, every: int, *seeds: object) -> bool:
    """Return whether a position in a person's order has a control item.

    Each group of `every` items has one control item at a random position.

    Args:
        position: The position, from 0.
        every: One item in this many is a control item.
        seeds: Values that determine the positions.

    Example:
        >>> [place for place in range(18) if is_control(place, 6, 0, 1)]
        [2, 6, 16]
    """
    group, slot = divmod(position, every)
    drawn = _hash((*seeds, "group", group)).digest()
    return int.from_bytes(drawn, "big") % every == slot


def _hash(seeds: tuple[object, ...]):
    return hashlib.blake2b(repr(seeds).encode(), digest_size=8)
