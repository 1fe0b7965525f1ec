"""Boxes beside each other: how far they overlap, and which of them are one."""

from collections.abc import Sequence
from typing import Any

# Of detectors of any word, which find an object many times: boxes of one name that overlap by
# more are one; ours to choose.
OVERLAP = 0.5


def apart(boxes: Sequence[dict[str, Any]], overlap: float = OVERLAP) -> list[dict[str, Any]]:
    """Return boxes without those that overlap a better one.

    Args:
        boxes: With `score` and `box` (left, top, right, bottom), the best first.
        overlap: The intersection over union from which on the worse one is left out.

    Example:
        >>> boxes = [{"box": [0, 0, 1, 1]}, {"box": [0, 0, 1, 0.9]}, {"box": [2, 2, 3, 3]}]
        >>> [box["box"] for box in apart(boxes)]
        [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    kept: list[dict[str, Any]] = []
    for box in boxes:
        if all(overlap_of(box["box"], better["box"]) <= overlap for better in kept):
            kept.append(box)
    return kept


def overlap_of(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the intersection of two boxes over their union.

    Example:
        >>> overlap_of([0, 0, 1, 1], [0, 0.5, 1, 1])
        0.5
    """
    width, height = (min(a[n + 2], b[n + 2]) - max(a[n], b[n]) for n in (0, 1))
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return width * height / (sum(areas) - width * height)
