"""Where the fixations of some images are, and where they are on another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

from pqpp_metrics.functional._types import Array


def fixated(xp: ModuleType, counts: Array) -> tuple[Array, Array]:
    """The fixated pixels of a map of counts, as places in its pixels in a row, and how often."""
    flat = xp.reshape(counts, (-1,))
    (places,) = xp.nonzero(flat != 0)
    return places, xp.take(flat, places)


def fixations_elsewhere(
    xp: ModuleType, fixations: Sequence[tuple[Array, Array]], sizes: Sequence[tuple[int, int]]
) -> Iterator[tuple[Array, Array]]:
    """For every image the fixations on all others: places on it, and how often.

    A coordinate is scaled by the quotient of the sizes and cut to a pixel, as in pysaliency.

    Args:
        fixations: What `fixated` gives of each image.
        sizes: Each image's (height, width).
    """
    parts = []
    for number, ((places, times), (height, width)) in enumerate(zip(fixations, sizes, strict=True)):
        row, column = (xp.astype(one, xp.float64) for one in (places // width, places % width))
        known = (xp.full_like(row, one) for one in (height, width, number))
        parts.append((row, column, *known, times))
    rows, columns, heights, widths, numbers, times = map(xp.concat, zip(*parts, strict=True))
    for number, (height, width) in enumerate(sizes):
        down = xp.astype(rows * (height / heights), xp.int64)
        across = xp.astype(columns * (width / widths), xp.int64)
        elsewhere = numbers != number
        yield (down * width + across)[elsewhere], times[elsewhere]
