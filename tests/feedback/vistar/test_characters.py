"""Posture rules on drawn skeletons, and matches by hand."""

from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")

from support.skeletons import skeleton

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.scores.characters import POSTURES, Characters, find_posture


def test_200_drawn_skeletons():
    right = {name: 0 for name in POSTURES}
    for seed in range(1000, 1200):
        name = POSTURES[seed % len(POSTURES)]
        right[name] += find_posture(skeleton(seed, name)) == name
    assert sum(right.values()) >= 190
    assert min(right.values()) >= 32  # of 40: no posture is left out


def test_what_is_not_seen_has_no_posture():
    points = skeleton(0, "sitting")
    assert find_posture([(x, y, 0.1) for x, y, _ in points]) is None
    legless = [(x, y, 0.0 if n >= 13 else c) for n, (x, y, c) in enumerate(points)]
    assert find_posture(legless) is None
    assert find_posture([(5, 5, 1)] * 17) is None


def person(posture, expression=None):
    return {"keypoints": skeleton(3, posture), "expression": expression}


def judged(people, **about):
    picture = Picture(Path("a.png"), "", about=about)
    return Characters().score({"people": people}, picture)


def test_scores_by_hand():
    people = [person("sitting", "happy"), person("standing", "sad")]
    # The pairing that fits best: order does not matter.
    both = {"postures": "Standing; sitting", "expressions": "sad; Happy"}
    assert judged(people, **both).score == pytest.approx(1.0)
    # Posture of both, expression of one, count of two: (1 + 1 + 1/2) / 3.
    one = {"postures": "standing; sitting", "expressions": "happy; happy"}
    assert judged(people, **one).score == pytest.approx(2.5 / 3)
    # Three wanted, two there: count 2/3, postures 2/3; expressions were not asked for.
    three = {"postures": "standing; sitting; lying"}
    assert judged(people, **three).score == pytest.approx(2 / 3)
    assert judged(people, count="4").score == pytest.approx(0.5)
    assert judged([], count=0).score == 1.0
    assert judged([], postures="lying").score == 0.0
    assert "2 people, 4 wanted" in judged(people, count=4).reason
