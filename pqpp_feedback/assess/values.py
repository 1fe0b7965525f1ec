"""Helpers that assessors share: overlap of boxes, lists in text, and unit vectors."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Open-vocabulary detectors find an object several times: boxes of one name with a higher
# intersection over union count as one. The value is pqpp's choice.
OVERLAP = 0.5


def nms(boxes: Sequence[dict[str, Any]], overlap: float = OVERLAP) -> list[dict[str, Any]]:
    """Return the boxes that do not overlap a higher-scoring one (non-maximum suppression).

    Args:
        boxes: Boxes with `score` and `box` (left, top, right, bottom), the highest score first.
        overlap: Intersection over union above which the lower-scoring box is dropped.

    Example:
        >>> boxes = [{"box": [0, 0, 1, 1]}, {"box": [0, 0, 1, 0.9]}, {"box": [2, 2, 3, 3]}]
        >>> [box["box"] for box in nms(boxes)]
        [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    selected: list[dict[str, Any]] = []
    for box in boxes:
        if all(compute_iou(box["box"], better["box"]) <= overlap for better in selected):
            selected.append(box)
    return selected


def compute_iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the intersection of two boxes over their union.

    Example:
        >>> compute_iou([0, 0, 1, 1], [0, 0.5, 1, 1])
        0.5
    """
    width, height = (min(a[n + 2], b[n + 2]) - max(a[n], b[n]) for n in (0, 1))
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return width * height / (sum(areas) - width * height)


_LIST_TEXT = re.compile(r"\s*(?:array\()?\[(.*)\](?:,\s*dtype=\w+\))?\s*", re.DOTALL)
_ITEM = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"\]]+)""")


def parse_list(value: Any, separators: str = ";|") -> list[str]:
    r"""Convert a list, or a string that contains one, to a list of strings.

    Args:
        value: A list; a list as text in the syntax of Python, JSON or NumPy, as `datasets` and
            `pandas` write it to CSV; a string with separators; or None.

    Example:
        >>> parse_list("a cat wakes; a cat eats"), parse_list(["one"]), parse_list(None)
        (['a cat wakes', 'a cat eats'], ['one'], [])
        >>> parse_list("['guitar' 'bat']"), parse_list("cup, cow", ",")
        (['guitar', 'bat'], ['cup', 'cow'])
    """
    if value is None:
        return []
    if isinstance(value, str):
        if match := _LIST_TEXT.fullmatch(value):
            texts = (next(filter(None, m.groups()), "") for m in _ITEM.finditer(match[1]))
            value = [re.sub(r"\\(.)", r"\1", text) for text in texts]
        else:
            value = re.split(f"[{re.escape(separators)}]", value)
    return [str(item).strip() for item in value if str(item).strip()]


def to_unit(features: Any) -> NDArray[np.float64]:
    """Scale vectors along the last axis to length one; vectors of zeros are unchanged.

    Example:
        >>> to_unit([[3, 4], [0, 0]]).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    vectors = np.asarray(features, dtype=np.float64)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
