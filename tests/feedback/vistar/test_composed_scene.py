"""Panels by grid and by gutters, coverage and consistency by hand."""

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


def page(boxes, size=(200, 120), ground=255):
    """A page of noisy panels on an even ground."""
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
def test_gutters(boxes, ground):
    assert split_at_gutters(page(boxes, ground=ground)) == boxes


def test_panels_by_grid_where_gutters_do_not_fit_the_layout():
    half = Image.fromarray(page([[0, 0, 98, 120], [102, 0, 200, 120]]))
    assert find_panels(half, "1x2", 2) == ("gutters", [[0, 0, 98, 120], [102, 0, 200, 120]])
    how, boxes = find_panels(half, "2x2", 4)
    assert how == "grid" and boxes[3] == [100, 60, 200, 120]
    whole = Image.fromarray(page([[0, 0, 200, 120]]))
    assert find_panels(whole, None, 2) == ("none", [[0, 0, 200, 120]])
    assert parse_grid("3 × 1") == (3, 1) and parse_grid("0x2") is None and parse_grid(None) is None


def judged(**seen):
    evidence = {"panels": [[0, 0, 1, 1]] * 2, "how": "grid", **seen}
    return ComposedScene().score(evidence, Picture(Path("a.png"), "", about=ABOUT))


def test_score_by_hand():
    similarity = [[0.2, 0.1], [0.1, 0.3]]  # scaled by 2.5: best .5 and .75, coverage .625
    said = judged(similarity=similarity, found=[0, 1], likeness=[[1, 0.8], [0.8, 1]])
    assert said.score == pytest.approx(math.sqrt(0.625 * 0.8))
    assert "coverage 0.62" in said.reason and "consistency 0.80" in said.reason
    once = judged(similarity=similarity, found=[1], likeness=[[1]])
    assert once.score == 0.0 and "in 1 of 2 panels" in once.reason
    # More than one by the last digit, as cosines of equal vectors are.
    alike = judged(similarity=[[0.9, 0.9]], found=[0, 1], likeness=[[1, 1.000001], [1.000001, 1]])
    assert alike.score == 1.0
