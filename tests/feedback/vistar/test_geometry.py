"""Geometry: each cue decreases with the damage that it measures."""

import itertools

import pytest

pytest.importorskip("cv2", reason="geometry needs pqpp[assess]")

from support.damages import damage, make_plain_scene

from pqpp_feedback.vistar.scores.geometry import measure_cues, scale_cues

CUES = ("normals", "curvature", "highlights", "contours", "texture")
STEPS = range(6)


@pytest.mark.parametrize("cue", CUES)
def test_cue_decreases_with_its_damage(cue):
    pixels, depth = make_plain_scene()
    scores = [scale_cues(measure_cues(*damage(cue, step, pixels, depth)))[cue] for step in STEPS]
    assert all(before > after for before, after in itertools.pairwise(scores)), scores
    assert scores[0] > 0.5 and scores[-1] < 0.7 * scores[0], scores
