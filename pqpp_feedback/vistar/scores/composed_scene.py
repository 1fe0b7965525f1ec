"""Composed scenes (CSE): whether panels show their texts, and all of them the same subject."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.values import parse_list, to_unit
from pqpp_feedback.vistar.choices import get_param, load_params
from pqpp_feedback.vistar.score import VistarScore
from pqpp_metrics.functional.vistar import scene_composition

Box = list[int]


class ComposedScene(VistarScore):
    """The square root of the panels' coverage times consistency, as in VISTAR's section 3.3.3.

    Inputs: `panels`, the text of each panel, in any order; `subject`, who or what is in all panels;
    `layout`, rows x columns, such as 2x2 (default: found from the gutters between panels).

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "", about={"panels": "a; b", "subject": "a cat"})
        >>> seen = {"panels": [0, 1], "found": [0, 1], "similarity": [[0.4, 0], [0, 0.4]]}
        >>> ComposedScene().score({**seen, "likeness": [[1, 0.81], [0.81, 1]]}, picture).score
        0.9
    """

    angle = "CSE"
    roles = ("similarity", "detector", "segmenter", "features")
    inputs = ("panels", "subject", "layout")

    def explain_missing(self, picture: Picture) -> str:
        """Return why the prompt cannot be scored; empty if it can."""
        missing = [n for n in ("panels", "subject") if not parse_list(get_param(picture, n))]
        return f"the prompt lists no `{missing[0]}`" if missing else ""

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the panels, their similarities to each text, and the subjects' similarities."""
        texts = parse_list(get_param(picture, "panels"))
        subject = str(get_param(picture, "subject"))
        method, boxes = find_panels(image, get_param(picture, "layout"), len(texts))
        panels = [image.crop(box) for box in boxes]
        subjects = [self.vision.embed_subject(panel, subject) for panel in panels]
        indices = [number for number, features in enumerate(subjects) if features is not None]
        vectors = to_unit([subjects[number] for number in indices])
        return {
            "how": method,
            "panels": boxes,
            "similarity": self.vision.compare(panels, texts).tolist(),
            "found": indices,
            "likeness": (vectors @ vectors.T).tolist() if indices else [],
        }

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the square root of coverage times consistency."""
        if len(evidence["panels"]) < 2:
            return Verdict(None, None, "no panels were found, and the prompt names no `layout`")
        params, likeness = load_params(self.section), np.array(evidence["likeness"])
        cosines = params["similarity_scale"] * np.array(evidence["similarity"])
        coverage = float(np.clip(cosines, 0, 1).max(0).mean())  # of each text's best panel
        number, panels = len(evidence["found"]), len(evidence["panels"])
        reason = f"coverage {coverage:.2f}; subject found in {number} of {panels} panels"
        consistency = params["too_few_finds"]
        if len(likeness) > 1:  # the mean cosine over pairs of found subjects
            consistency = float(likeness[np.triu_indices(len(likeness), 1)].mean())
            reason += f", consistency {consistency:.2f}"
        score = float(scene_composition([coverage], [np.clip(consistency, -1, 1)])[0])
        return Verdict(None, score, reason)


def find_panels(image: Any, layout: Any, texts: int) -> tuple[str, list[list[int]]]:
    """Return how panels were found (`gutters`, `grid` or `none`), and their boxes.

    Gutters are used if they separate as many panels as the layout has; without a layout, if they
    separate as many panels as there are texts, or at least two.

    Example:
        >>> from PIL import Image
        >>> find_panels(Image.new("RGB", (40, 20)), "1x2", 2)
        ('grid', [[0, 0, 20, 20], [20, 0, 40, 20]])
    """
    grid = parse_grid(layout)
    boxes = split_at_gutters(np.asarray(image))
    expected = grid[0] * grid[1] if grid else texts
    if len(boxes) == expected or (grid is None and len(boxes) > 1):
        return "gutters", boxes
    return ("grid", split_grid(image.size, grid)) if grid else ("none", boxes)


def parse_grid(layout: Any) -> tuple[int, int] | None:
    """Return rows and columns of a layout like `2x3`; None for anything else.

    Example:
        >>> parse_grid("2 x 3"), parse_grid("a row")
        ((2, 3), None)
    """
    match = re.fullmatch(r"\s*([1-9]\d?)\s*[x×*]\s*([1-9]\d?)\s*", str(layout or ""))
    return (int(match[1]), int(match[2])) if match else None


def split_grid(size: tuple[int, int], grid: tuple[int, int]) -> list[Box]:
    """Return the boxes (left, top, right, bottom) of equal parts of an image, row by row.

    Args:
        size: Width and height in pixels.
        grid: Rows and columns.

    Example:
        >>> split_grid((4, 2), (1, 2))
        [[0, 0, 2, 2], [2, 0, 4, 2]]
    """
    (width, height), (rows, columns) = size, grid
    x = [round(width * n / columns) for n in range(columns + 1)]
    y = [round(height * n / rows) for n in range(rows + 1)]
    return [[x[c], y[r], x[c + 1], y[r + 1]] for r in range(rows) for c in range(columns)]


def split_at_gutters(image: NDArray[np.uint8]) -> list[Box]:
    """Return the boxes between gutters of one colour, row by row; one box without gutters.

    A gutter spans the whole width, or the whole height of a row of panels.

    Args:
        image: (height, width, 3), 0 to 255.

    Example:
        >>> image = np.random.default_rng(0).integers(0, 255, (50, 100, 3), np.uint8)
        >>> image[:, 48:52] = 255
        >>> split_at_gutters(image)
        [[0, 0, 48, 50], [52, 0, 100, 50]]
    """
    height, width = image.shape[:2]
    boxes = []
    for top, bottom in _find_runs(image, height):
        columns = _find_runs(image[top:bottom].swapaxes(0, 1), width)
        boxes += [[left, top, right, bottom] for left, right in columns]
    return boxes


def _find_runs(lines: NDArray[np.uint8], side: int) -> list[tuple[int, int]]:
    """Return the start and end of each run of lines between gutters; short runs are dropped."""
    params = load_params("composed_scene")
    values = lines.astype(float)
    medians = np.median(values, axis=1, keepdims=True)
    differs = np.abs(values - medians).max(2) > params["gutter_tolerance"]
    is_gutter = differs.mean(1) <= params["gutter_specks"]
    edges = np.flatnonzero(np.diff(np.concatenate([[True], is_gutter, [True]]).astype(int)))
    runs = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    joined: list[tuple[int, int]] = []
    for start, end in runs:
        # A single line of one colour within a picture is not a gutter.
        if joined and start - joined[-1][1] < params["least_gutter"] * side:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    panels = [run for run in joined if run[1] - run[0] >= params["least_panel"] * side]
    return panels or [(0, len(lines))]
