"""Panels of a composed picture: by a grid that the prompt names, or by the gutters between them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.vistar.choices import choices

Box = list[int]


def grid_of(layout: Any) -> tuple[int, int] | None:
    """Return rows and columns of a layout like `2x3`; None for anything else.

    Example:
        >>> grid_of("2 x 3"), grid_of("a row")
        ((2, 3), None)
    """
    found = re.fullmatch(r"\s*([1-9]\d?)\s*[x×*]\s*([1-9]\d?)\s*", str(layout or ""))
    return (int(found[1]), int(found[2])) if found else None


def grid_panels(size: tuple[int, int], grid: tuple[int, int]) -> list[Box]:
    """Return the boxes (left, top, right, bottom) of a picture cut into equal parts, row by row.

    Args:
        size: Width and height in pixels.
        grid: Rows and columns.

    Example:
        >>> grid_panels((4, 2), (1, 2))
        [[0, 0, 2, 2], [2, 0, 4, 2]]
    """
    (width, height), (rows, columns) = size, grid
    x = [round(width * n / columns) for n in range(columns + 1)]
    y = [round(height * n / rows) for n in range(rows + 1)]
    return [[x[c], y[r], x[c + 1], y[r + 1]] for r in range(rows) for c in range(columns)]


def gutter_panels(image: NDArray[np.uint8]) -> list[Box]:
    """Return the boxes between gutters of one colour, row by row; one box where there is none.

    A gutter runs through the whole width, or through the whole height of a row of panels.

    Args:
        image: (height, width, 3), 0 to 255.

    Example:
        >>> image = np.random.default_rng(0).integers(0, 255, (50, 100, 3), np.uint8)
        >>> image[:, 48:52] = 255
        >>> gutter_panels(image)
        [[0, 0, 48, 50], [52, 0, 100, 50]]
    """
    height, width = image.shape[:2]
    boxes = []
    for top, bottom in _between(image, height):
        row = image[top:bottom]
        boxes += [[left, top, right, bottom] for left, right in _between(row.swapaxes(0, 1), width)]
    return boxes


def _between(lines: NDArray[np.uint8], side: int) -> list[tuple[int, int]]:
    """Return the stretches of lines that are no gutter, the short ones left out."""
    chosen = choices("composed_scene")
    values = lines.astype(float)
    middle = np.median(values, axis=1, keepdims=True)
    apart = np.abs(values - middle).max(2) > chosen["gutter_tolerance"]
    even = apart.mean(1) <= chosen["gutter_specks"]
    edges = np.flatnonzero(np.diff(np.concatenate([[True], even, [True]]).astype(int)))
    runs = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    joined: list[tuple[int, int]] = []
    for start, end in runs:
        # A single even line within a picture is no gutter.
        if joined and start - joined[-1][1] < chosen["least_gutter"] * side:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    kept = [run for run in joined if run[1] - run[0] >= chosen["least_panel"] * side]
    return kept or [(0, len(lines))]
