"""Lists of fixated or marked points as maps."""

from __future__ import annotations

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_array, as_finite, require_size, to_numpy
from pqpp_metrics.functional._types import Floats, Values


def fixation_map(points: Values, height: int, width: int) -> Floats:
    """Count fixations on the pixels of a map.

    Args:
        points: Fixated pixels as [row, column], shape (points, 2), whole numbers; may be empty.
        height: In pixels.
        width: In pixels.

    Returns:
        numpy float64 array (height, width) of counts.

    Raises:
        MetricInputError: a point outside the map, or not a pair of integers.

    Example:
        >>> fixation_map([[0, 1], [0, 1]], height=1, width=3).tolist()
        [[0.0, 2.0, 0.0]]
    """
    height, width = require_size(height, width)
    points = to_numpy(as_array("points", points))
    if points.size == 0:
        return np.zeros((height, width))
    if points.dtype.kind in "fO":
        points = to_numpy(as_finite("points", points, ndim=points.ndim))
    whole = points.astype(np.int64) if points.dtype.kind in "iuf" else None
    if whole is None or (whole != points).any():
        what = "fractions" if points.dtype.kind == "f" else points.dtype
        raise MetricInputError(f"`points` holds {what}; a pixel is a pair of integers")
    if points.ndim != 2 or points.shape[1] != 2:
        raise MetricInputError(
            f"`points` has shape {points.shape}; a row for each point, [row, column], is needed"
        )
    inside = (points >= 0) & (points < [height, width])
    if not inside.all():
        outside = points[~inside.all(axis=1)][0].tolist()
        raise MetricInputError(f"`points` holds {outside}, outside a map of {height} x {width}")
    rows, columns = whole.T  # in a byte, row * width would wrap around
    flat = np.bincount(rows * width + columns, minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)
