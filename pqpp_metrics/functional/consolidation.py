"""Consolidate several annotators' feedback on one image: scores, keywords and marked points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Floats, Values

_TIES = ("aligned", "misaligned")
# The radius of a marked point as a share of the image's height.
_RADIUS = 1 / 20


def richhf_consolidation(
    scores: Values,
    keyword_labels: Values,
    points: Sequence[Values],
    height: int,
    width: int,
    ties: str = "aligned",
) -> dict[str, NDArray[Any]]:
    """Consolidate the feedback of several annotators on one image.

    RichHF (Liang et al., CVPR 2024), sections 3.1 and 3.2: scores are averaged, a keyword's
    label is the most frequent one, every marked point becomes a disk of radius height / 20, and
    the heatmaps of the annotators are averaged.

    Args:
        scores: Shape (annotators, score types), NaN if missing.
        keyword_labels: Labels of the prompt's tokens, shape (annotators, tokens): 0 misaligned,
            1 aligned.
        points: For each annotator, the marked points: a sequence of [row, column] in pixels, which
            may be empty.
        height: Height of the image in pixels.
        width: Width of the image in pixels.
        ties: Label of a token if the annotators are evenly split: "aligned" (default) or
            "misaligned".

    Returns:
        dict: "scores", float64 (score types,), NaN for a type without scores; "keyword_labels",
        int64 (tokens,); "heatmap", float64 (height, width) in [0, 1], the share of annotators whose
        disks cover the pixel.

    Example:
        >>> result = richhf_consolidation(
        ...     scores=[[4, 5], [2, 5]], keyword_labels=[[0, 1], [0, 1]],
        ...     points=[[[0, 0]], []], height=20, width=3,
        ... )
        >>> result["scores"].tolist(), result["heatmap"][:2].tolist()
        ([3.0, 5.0], [[0.5, 0.5, 0.0], [0.5, 0.0, 0.0]])
    """
    scores = _inputs.as_floats("scores", scores, ndim=2, finite=False)
    if np.isinf(scores).any():
        raise MetricInputError("`scores` contains infinities; use NaN for a missing score")
    all_labels = _inputs.as_array("keyword_labels", keyword_labels)
    labels = majority_labels(all_labels, ties)
    points = _inputs.as_list("points", points)
    heatmap = points_heatmap(points, height, width)
    rows = {"scores": scores, "keyword_labels": all_labels, "points": points}
    _inputs.check_lengths("one row for each annotator", **rows)
    is_present = ~np.isnan(scores)
    number = is_present.sum(axis=0)
    total = np.where(is_present, scores, 0.0).sum(axis=0)
    mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return {"scores": mean, "keyword_labels": labels, "heatmap": heatmap}


def majority_labels(keyword_labels: Values, ties: str = "aligned") -> NDArray[np.int64]:
    """Return the most frequent label of each token.

    RichHF, section 3.2.

    Args:
        keyword_labels: Shape (annotators, tokens): 0 misaligned, 1 aligned.
        ties: As in `richhf_consolidation`.

    Returns:
        numpy int64 array (tokens,).

    Example:
        >>> majority_labels([[0, 1], [0, 1], [1, 0]]).tolist()
        [0, 1]
    """
    _inputs.require_choice("ties", ties, _TIES)
    labels = _inputs.to_numpy(_inputs.as_numbers("keyword_labels", keyword_labels, ndim=2))
    meaning = "must be 0 (misaligned) or 1 (aligned)"
    _inputs.require_values("keyword_labels", labels, (0, 1), meaning)
    doubled = 2 * (labels == 1).sum(axis=0)
    aligned = doubled >= len(labels) if ties == "aligned" else doubled > len(labels)
    return aligned.astype(np.int64)


def points_heatmap(points: Sequence[Values], height: int, width: int) -> Floats:
    """Return the heatmap of the points that several annotators marked.

    RichHF, sections 3.1 and 3.2: a point becomes a disk of radius height / 20; an annotator's disks
    form a region, and the regions of all annotators are averaged. A pixel belongs to a disk if its
    centre, at whole coordinates, is within the radius.

    Args:
        points: For each annotator, a sequence of [row, column] in pixels, which may be fractions.
        height: Height of the image in pixels.
        width: Width of the image in pixels.

    Returns:
        numpy float64 array (height, width), with values in [0, 1].

    Example:
        >>> points_heatmap([[[1, 1]]], height=3, width=3).tolist()
        [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    height, width = _inputs.require_size(height, width)
    points = _inputs.as_list("points", points)
    if not points:
        raise MetricInputError("`points` must not be empty; add one list for each annotator")
    radius = height * _RADIUS
    total = np.zeros((height, width))
    for annotator, marked in enumerate(points):
        region = np.zeros((height, width), dtype=bool)
        for row, column in _inputs.as_points(f"points[{annotator}]", marked, height, width):
            # Check only the square around the disk.
            top, left = max(0, int(row - radius)), max(0, int(column - radius))
            rows = np.arange(top, min(height, int(row + radius) + 2))
            columns = np.arange(left, min(width, int(column + radius) + 2))
            is_inside = (rows[:, None] - row) ** 2 + (columns - column) ** 2 <= radius * radius
            region[top : top + len(rows), left : left + len(columns)] |= is_inside
        total += region
    return total / len(points)
