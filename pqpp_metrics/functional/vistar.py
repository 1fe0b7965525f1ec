"""VISTAR's physical scores, from what detectors found in the image.

VISTAR (Jiang et al., 2025), section 3.3. Detection, segmentation and depth are other models' work;
here is the arithmetic that turns their output into a score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    as_array,
    finite_numpy,
    require_between,
    require_choice,
    require_same_shape,
    to_numpy,
)
from pqpp_metrics.functional._types import Floats, Values


def light_direction(predictions: Values, references: Values) -> Floats:
    """Light consistency: 1 - angle between inferred and wanted light direction / 90 degrees.

    VISTAR, section 3.3.2 (LI). Angles over 90 degrees would be negative; clipped at 0.

    Args:
        predictions: Inferred directions, shape (images, 3), any length but 0.
        references: Wanted directions, same shape.

    Returns:
        float64 array (images,), each in [0, 1].

    Example:
        >>> light_direction([[0, 0, 2], [1, 0, 1]], [[0, 0, 1], [0, 0, 1]]).round(4).tolist()
        [1.0, 0.5]
    """
    inferred, wanted = _vectors("predictions", predictions), _vectors("references", references)
    require_same_shape(predictions=inferred, references=wanted)
    # Half-angle form: exact for directions that are almost equal, where arccos is not.
    apart = np.linalg.norm(inferred - wanted, axis=1)
    together = np.linalg.norm(inferred + wanted, axis=1)
    angle = 2 * np.arctan2(apart, together)
    return np.clip(1 - angle / (np.pi / 2), 0.0, 1.0)


def _vectors(name, values):
    """Unit vectors in the given directions."""
    vectors = finite_numpy(name, values, ndim=2)
    if vectors.shape[1] != 3:
        raise MetricInputError(f"`{name}` has shape {vectors.shape}; a direction has 3 coordinates")
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if (largest == 0).any():
        row = int(np.argmax(largest[:, 0] == 0))
        raise MetricInputError(f"`{name}` holds a zero vector at [{row}]; it has no direction")
    vectors = vectors / largest
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def scene_composition(coverage: Values, consistency: Values) -> Floats:
    """Compositional scene score: geometric mean of coverage and consistency.

    VISTAR, section 3.3.3 (CSE-Score). Both parts are mean cosine similarities; a negative one
    counts as 0, since the root of a negative product does not exist.

    Args:
        coverage: CSE-Cov of each image, shape (images,), in [-1, 1]: over the sub-prompts, the
            mean of the best similarity to any region.
        consistency: CSE-Con of each image, same shape and range: mean similarity of the subject
            between regions.

    Returns:
        float64 array (images,), each in [0, 1].

    Example:
        >>> scene_composition([0.25, 0.5], [1.0, -0.2]).tolist()
        [0.5, 0.0]
    """
    parts = {}
    for name, values in (("coverage", coverage), ("consistency", consistency)):
        parts[name] = finite_numpy(name, values, ndim=1)
        _require_range(name, parts[name], -1.0, 1.0)
    require_same_shape(**parts)
    coverage, consistency = (np.maximum(part, 0.0) for part in parts.values())
    return np.sqrt(coverage * consistency)


WEIGHTINGS = ("printed", "corrected")


def penetration(
    overlap_depths: Values,
    outside_depths: Values,
    confidences: Values,
    epsilon: float = 1e-6,
    weighting: str = "printed",
) -> dict[str, Any]:
    """Spatial consistency of one image: the worst sign of one solid inside another.

    VISTAR, section 3.3.5 (PSC): for each pair of objects with overlapping masks
    C = the absolute difference of mean depths inside the overlap, over that outside of it plus
    epsilon, near 0 where one penetrates the other; weighted by the product of both confidences;
    the score is the lowest. The paper does not print its epsilon; the default is ours.

    The product lets a bad mask look like a penetration, the opposite of what the paper says that
    it is for. "corrected" is ours: 1 - w (1 - min(C, 1)), where w is the product of confidences.

    Args:
        overlap_depths: Mean depth of both objects inside their overlap, shape (pairs, 2).
        outside_depths: Mean depth of both outside of it, same shape and unit.
        confidences: Segmentation confidences of both, same shape, in [0, 1].
        epsilon: What keeps the divisor above 0, in the unit of the depths.
        weighting: "printed" (default), C times the confidences, or "corrected".

    Returns:
        dict: "penetration", the lowest weighted C, 0 or above (NaN without pairs: nothing to
        judge); "chaos", C of each pair; "weighted", C weighted by the confidences.

    Example:
        >>> result = penetration([[1.0, 1.5], [2, 2]], [[1, 2], [1, 3]], [[1, 0.5], [1, 1]])
        >>> result["chaos"].round(3).tolist(), round(result["penetration"], 3)
        ([0.5, 0.0], 0.0)
        >>> unsure = penetration([[2, 2]], [[1, 3]], [[0.5, 0.5]], weighting="corrected")
        >>> unsure["penetration"]
        0.75
    """
    require_choice("weighting", weighting, WEIGHTINGS)
    epsilon = require_between("epsilon", epsilon, 0, float("inf"))
    given = {
        "overlap_depths": overlap_depths,
        "outside_depths": outside_depths,
        "confidences": confidences,
    }
    if all(to_numpy(as_array(name, values)).size == 0 for name, values in given.items()):
        nothing = np.empty(0)
        return {"penetration": float("nan"), "chaos": nothing, "weighted": nothing}
    arrays = {name: finite_numpy(name, values, ndim=2) for name, values in given.items()}
    require_same_shape(**arrays)
    inside, outside, confidence = arrays.values()
    if inside.shape[1] != 2:
        raise MetricInputError(f"`overlap_depths` has shape {inside.shape}; give (pairs, 2)")
    _require_range("confidences", confidence, 0.0, 1.0)
    chaos = np.abs(inside[:, 0] - inside[:, 1]) / (np.abs(outside[:, 0] - outside[:, 1]) + epsilon)
    weight = confidence.prod(axis=1)
    weighted = chaos * weight
    if weighting == "corrected":
        weighted = 1 - weight * (1 - np.minimum(chaos, 1))
    return {"penetration": float(weighted.min()), "chaos": chaos, "weighted": weighted}


def geometric_minimum(scores: Values) -> Floats:
    """Geometric consistency: the lowest of an image's six cues.

    VISTAR, section 3.3.6 (GC): depth normals, depth curvature, highlight continuity, contour
    integrity, texture regularity and feature anomalies, each normalised to [0, 1].

    Args:
        scores: Shape (images, 6), in [0, 1].

    Returns:
        float64 array (images,), each in [0, 1].

    Example:
        >>> geometric_minimum([[0.9, 0.8, 0.7, 0.95, 0.6, 1.0]]).tolist()
        [0.6]
    """
    scores = finite_numpy("scores", scores, ndim=2)
    if scores.shape[1] != 6:
        raise MetricInputError(f"`scores` has shape {scores.shape}; give (images, 6) sub-scores")
    _require_range("scores", scores, 0.0, 1.0)
    return scores.min(axis=1)


def _require_range(name, values, low, high):
    outside = (values < low) | (values > high)
    if outside.any():
        raise MetricInputError(
            f"`{name}` holds {values[outside][0]:g}; it must lie in [{low:g}, {high:g}]"
        )
