"""Lists of fixated or marked points as maps."""

import numpy as np

from pqpp_metrics.errors import MetricInputError


def fixation_map(points, height, width):
    """Count fixations on the pixels of a map.

    Args:
        points: Fixated pixels as [row, column], shape (points, 2), integers; may be empty.
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
    points = np.asarray(points).reshape(-1, 2) if len(points) else np.empty((0, 2), int)
    if points.dtype.kind not in "iu":
        raise MetricInputError(f"`points` holds {points.dtype}; a pixel is a pair of integers")
    inside = (points >= 0) & (points < [height, width])
    if not inside.all():
        outside = points[~inside.all(axis=1)][0].tolist()
        raise MetricInputError(f"`points` holds {outside}, outside a map of {height} x {width}")
    flat = np.bincount(points[:, 0] * width + points[:, 1], minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)
