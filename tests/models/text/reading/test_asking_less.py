"""Asking for more is never easier: longer lists, longer texts to draw, places for things."""

import numpy as np
import pytest

from pqpp_models import Predictor
from pqpp_models.text.reading.asking_less import asking_less

THINGS = ("a dog", "a red car", "an old clock", "two cats", "a bird", "the moon", "a tree")
SIGNS = ("a sign that says '{}'", 'a t-shirt with "{}" on it', "a poster with the words “{}”")
PHRASE = "Mind the gap between the old train and the new platform, please do"
TEXT = PHRASE.split()


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


def falls(predictor, prompts):
    values = predictor.predict(prompts, "alignment,mean_hbpp")
    return np.diff(values, axis=0).max() < 1e-5 and values[0, 0] - values[-1, 0] > 0.02


@pytest.mark.parametrize("end", ["", " on a table", " in the snow at night"])
def test_a_longer_list_is_never_easier(static, end):
    lists = [" and ".join(filter(None, (", ".join(THINGS[:n]), THINGS[n]))) for n in range(7)]
    assert falls(static, [f"{things}{end}" for things in lists])


@pytest.mark.parametrize("frame", SIGNS)
def test_a_longer_text_to_draw_is_never_easier(static, frame):
    assert falls(static, [frame.format(" ".join(TEXT[: n + 1])) for n in range(len(TEXT))])


def test_a_place_is_never_easier_than_being_near(static):
    pairs = [
        (f"a {one} {place} a {other}", f"a {one} near a {other}")
        for place in ("behind", "left of", "to the right of", "under", "on top of", "below")
        for one, other in (("cat", "box"), ("bus", "cow"), ("fork", "hat"), ("man", "wall"))
    ]
    values = static.predict([prompt for pair in pairs for prompt in pair], "alignment")
    assert np.diff(values.reshape(-1, 2), axis=1).min() > -1e-6


@pytest.mark.parametrize(
    ("text", "less"),
    [
        ("a cat", ["a cat"]),
        ("a black and white cat", ["a black and white cat"]),
        ("a man and a dog sitting", ["a man sitting", "a man and a dog sitting"]),
        ("a cat, and a dog", ["a cat", "a cat and a dog"]),
        ("a cup that says 'a cat and a dog'", None),
        ("'behind' in front of a wall", ["'behind' near a wall", "'behind' in front of a wall"]),
        ("2 cats", ["one cat", "two cats"]),
    ],
)
def test_what_asks_for_less(text, less):
    found = asking_less(text)
    assert found == less if less else len(found) == 5 and found[-1] == text


def test_no_prompt_is_asked_more_than_300_times():
    long = " and ".join(
        f"{n} big dogs behind a cat that says '{' '.join('abcdefgh')}'" for n in (9, 8)
    )
    assert 1 < len(asking_less(long)) <= 300
