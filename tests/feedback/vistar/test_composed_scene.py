"""Composed scenes: panels by gutters and grid, coverage and consistency by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")
Image = pytest.importorskip("PIL.Image")

from pqpp_feedback.assess.pictures import Picture  # noqa: E402
from pqpp_feedback.vistar.scores.composed_scene import (  # noqa: E402  # noqa: E402
    ComposedScene,
    find_panels,
    parse_grid,
    split_at_gutters,
)

ABOUT = {"panels": ["a cat wakes", "a cat eats"], "subject": "cat"}


def draw_page(boxes, size=(200, 120), ground=255):
    """Return a page of noisy panels on a background of one colour."""
    random = np.random.default_rng(0)
    image = np.full((size[1], size[0], 3), ground, np.uint8)
    for left, top, right, bottom in boxes:
        image[top:bottom, left:right] = random.integers(0, 255, (bottom - top, right - left, 3))
    return image


@pytest.mark.parametrize(
    "boxes",
    [
        [[0, 0, 98, 120], [102, 0, 200, 120]],
        [[5, 5, 97, 58], [103, 5, 195, 58], [5, 63, 97, 115], [103, 63, 195, 115]],
        [[4, 4, 196, 50], [4, 56, 90, 116], [95, 56, 196, 116]],  # one over two
    ],
)
@pytest.mark.parametrize("ground", [255, 0, 128])
def test_splits_at_gutters(boxes, ground):
    assert split_at_gutters(draw_page(boxes, ground=ground)) == boxes


def test_uses_grid_if_gutters_do_not_match_layout():
    two_panels = Image.fromarray(draw_page([[0, 0, 98, 120], [102, 0, 200, 120]]))
    assert find_panels(two_panels, "1x2", 2) == ("gutters", [[0, 0, 98, 120], [102, 0, 200, 120]])
    method, boxes = find_panels(two_panels, "2x2", 4)
    assert method == "grid" and boxes[3] == [100, 60, 200, 120]
    single = Image.fromarray(draw_page([[0, 0, 200, 120]]))
    assert find_panels(single, None, 2) == ("none", [[0, 0, 200, 120]])
    assert parse_grid("3 × 1") == (3, 1) and parse_grid("0x2") is None and parse_grid(None) is None


def score_evidence(**cells):
    evidence = {"panels": [[0, 0, 1, 1]] * 2, "how": "grid", **cells}
    return ComposedScene().score(evidence, Picture(Path("a.png"), "", about=ABOUT))


def test_score_by_hand():
    similarity = [[0.2, 0.1], [0.1, 0.3]]  # scaled by 2.5: best .5 and .75, coverage .625
    verdict = score_evidence(similarity=similarity, found=[0, 1], likeness=[[1, 0.8], [0.8, 1]])
    assert verdict.score == pytest.approx(math.sqrt(0.625 * 0.8))
    assert "coverage 0.62" in verdict.reason and "consistency 0.80" in verdict.reason
    partial = score_evidence(similarity=similarity, found=[1], likeness=[[1]])
    assert partial.score == 0.0 and "in 1 of 2 panels" in partial.reason
    # Cosines of equal vectors may exceed 1 by rounding.
    likeness = [[1, 1.000001], [1.000001, 1]]
    assert score_evidence(similarity=[[0.9] * 2], found=[0, 1], likeness=likeness).score == 1.0
