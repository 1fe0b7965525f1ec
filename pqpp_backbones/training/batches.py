"""The order of the data: shuffled by a seed, with prompts of like length in a batch."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def in_order(n: int, batch_size: int) -> list[NDArray[np.int64]]:
    """Cut the numbers from 0 to n into batches, in their order.

    Example:
        >>> [batch.tolist() for batch in in_order(3, 2)]
        [[0, 1], [2]]
    """
    return [np.arange(start, min(start + batch_size, n)) for start in range(0, n, batch_size)]


class LengthSortedBatches:
    """Batches of indices for a `DataLoader`; the order depends on the seed and the epoch only.

    Rows are shuffled, sorted by length inside pools of many batches, cut into batches, and the
    batches are shuffled. Little is padded, and an epoch's order is still random. The last, shorter
    batch always comes last, which Accelerate needs when it deals batches out to processes.

    Args:
        lengths: The length of each row; where all are alike, batches are random.
        pool: How many batches are sorted together.

    Example:
        >>> batches = LengthSortedBatches([5, 1, 4, 2, 3], batch_size=2, seed=0)
        >>> sorted(index for batch in batches for index in batch)
        [0, 1, 2, 3, 4]
    """

    drop_last = False

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int, pool: int = 50) -> None:
        self.lengths = np.asarray(lengths)
        self.batch_size, self.seed, self.pool = batch_size, seed, pool
        self.epoch = 0

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng([self.seed, self.epoch])
        order = random.permutation(len(self.lengths))
        n_full = len(order) // self.batch_size
        full, rest = order[: n_full * self.batch_size], order[n_full * self.batch_size :]
        if n_full:
            size = self.pool * self.batch_size
            pools = [full[start : start + size] for start in range(0, len(full), size)]
            full = np.concatenate([p[np.argsort(self.lengths[p], kind="stable")] for p in pools])
        for number in random.permutation(n_full):
            yield full[number * self.batch_size : (number + 1) * self.batch_size].tolist()
        if len(rest):
            yield rest.tolist()
