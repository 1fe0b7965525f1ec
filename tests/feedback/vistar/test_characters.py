"""Characters: postures of drawn skeletons, and scores by hand."""

from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")

from support.skeletons import make_skeleton

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.scores.characters import POSTURES, Characters, find_posture


def test_find_posture_of_drawn_skeletons():
    correct = {name: 0 for name in POSTURES}
    for seed in range(1000, 1200):
        name = POSTURES[seed % len(POSTURES)]
        correct[name] += find_posture(make_skeleton(seed, name)) == name
    assert sum(correct.values()) >= 190
    assert min(correct.values()) >= 32  # of 40 per posture


def test_unreliable_keypoints_have_no_posture():
    points = make_skeleton(0, "sitting")
    assert find_posture([(x, y, 0.1) for x, y, _ in points]) is None
    legless = [(x, y, 0.0 if n >= 13 else c) for n, (x, y, c) in enumerate(points)]
    assert find_posture(legless) is None
    assert find_posture([(5, 5, 1)] * 17) is None


def make_person(posture, expression=None):
    return {"keypoints": make_skeleton(3, posture), "expression": expression}


def score_people(people, **about):
    picture = Picture(Path("a.png"), "", about=about)
    return Characters().score({"people": people}, picture)


def test_score_by_hand():
    people = [make_person("sitting", "happy"), make_person("standing", "sad")]
    # The best pairing counts, in any order.
    both = {"postures": "Standing; sitting", "expressions": "sad; Happy"}
    assert score_people(people, **both).score == pytest.approx(1.0)
    # Posture of both, expression of one, count of two: (1 + 1 + 1/2) / 3.
    partial = {"postures": "standing; sitting", "expressions": "happy; happy"}
    assert score_people(people, **partial).score == pytest.approx(2.5 / 3)
    # Three requested, two found: count 2/3, postures 2/3; no expression is requested.
    too_many = {"postures": "standing; sitting; lying"}
    assert score_people(people, **too_many).score == pytest.approx(2 / 3)
    assert score_people(people, count="4").score == pytest.approx(0.5)
    assert score_people([], count=0).score == 1.0
    assert score_people([], postures="lying").score == 0.0
    assert "2 people, 4 requested" in score_people(people, count=4).reason
