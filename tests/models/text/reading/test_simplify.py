"""More demanding prompts never score higher: more things, longer lists and texts, positions."""

import numpy as np
import pytest

from pqpp_models import Predictor
from pqpp_models.text.reading.simplify import find_counts, reduce_counts, simplify_prompt

THINGS = ("a dog", "a red car", "an old clock", "two cats", "a bird", "the moon", "a tree")
SIGNS = ("a sign that says '{}'", 'a t-shirt with "{}" on it', "a poster with the words “{}”")
PHRASE = "Mind the gap between the old train and the new platform, please do"
TEXT = PHRASE.split()


NUMBERS = (
    *map(str, range(1, 16)), "20", "21", "30", "42", "50", "99", "100", "101", "144", "250", "999",
    "1000", "1,500", "2000", "10000", "1000000",
)  # fmt: skip
WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "nineteen", "twenty", "twenty five", "fifty", "ninety-nine",
    "a hundred", "one hundred and one", "a thousand",
)  # fmt: skip
NOUNS = {
    "dog": "dogs", "cat": "cats", "apple": "apples", "person": "people", "car": "cars",
    "child": "children", "box": "boxes", "cherry": "cherries", "bus": "buses", "glass": "glasses",
    "woman": "women", "sheep": "sheep", "capybara": "capybaras", "fish": "fish", "book": "books",
    "chair": "chairs", "balloon": "balloons", "horse": "horses", "candle": "candles",
    "bottle": "bottles",
}  # fmt: skip
FRAMES = ("{} {} on a table", "a photo of {} {}", "a red bus and {} small {} in the snow")


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


def is_decreasing(predictor, prompts):
    values = predictor.predict(prompts, "alignment,mean_hbpp")
    return np.diff(values, axis=0).max() < 1e-5 and values[0, 0] - values[-1, 0] > 0.02


@pytest.mark.parametrize("end", ["", " on a table", " in the snow at night"])
def test_longer_lists_are_never_easier(static, end):
    lists = [" and ".join(filter(None, (", ".join(THINGS[:n]), THINGS[n]))) for n in range(7)]
    assert is_decreasing(static, [f"{things}{end}" for things in lists])


@pytest.mark.parametrize("frame", SIGNS)
def test_longer_texts_to_draw_are_never_easier(static, frame):
    assert is_decreasing(static, [frame.format(" ".join(TEXT[: n + 1])) for n in range(len(TEXT))])


def test_positions_are_never_easier_than_near(static):
    pairs = [
        (f"a {one} {position} a {other}", f"a {one} near a {other}")
        for position in ("behind", "left of", "to the right of", "under", "on top of", "below")
        for one, other in (("cat", "box"), ("bus", "cow"), ("fork", "hat"), ("man", "wall"))
    ]
    values = static.predict([prompt for pair in pairs for prompt in pair], "alignment")
    assert np.diff(values.reshape(-1, 2), axis=1).min() > -1e-6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a cat", ["a cat"]),
        ("a black and white cat", ["a black and white cat"]),
        ("a man and a dog sitting", ["a man sitting", "a man and a dog sitting"]),
        ("a cat, and a dog", ["a cat", "a cat and a dog"]),
        ("a cup that says 'a cat and a dog'", None),
        ("'behind' in front of a wall", ["'behind' near a wall", "'behind' in front of a wall"]),
        ("2 cats", ["a cat", "two cats"]),
    ],
)
def test_simplifies_prompt(text, expected):
    result = list(simplify_prompt(text))
    assert result == expected if expected else len(result) == 5 and result[-1] == text


def test_limits_variants_to_300():
    long = " and ".join(
        f"{n} big dogs behind a cat that says '{' '.join('abcdefgh')}'" for n in (9, 8)
    )
    assert 1 < len(simplify_prompt(long)) <= 300


@pytest.mark.parametrize("numbers", [NUMBERS, WORDS])
@pytest.mark.parametrize("frame", FRAMES)
def test_more_things_are_never_easier(static, numbers, frame):
    prompts = [
        frame.format(number, one if number in ("1", "one") else many)
        for one, many in NOUNS.items()
        for number in numbers
    ]
    values = static.predict(prompts, "alignment,mean_hbpp").reshape(len(NOUNS), len(numbers), 2)
    assert np.diff(values, axis=1).max() < 1e-5
    assert np.ptp(values[..., 0], axis=1).max() > 0.05  # the number has an effect


def test_digits_and_words_predict_the_same(static):
    pairs = [("3", "three"), ("12", "twelve"), ("20", "twenty"), ("100", "one hundred")]
    for digits, words in [*pairs, ("100", "a hundred"), ("12", "a dozen"), ("101", "101")]:
        predictions = static.predict([f"{n} dogs on a table" for n in (digits, words)], "alignment")
        assert abs(predictions[0, 0] - predictions[1, 0]) < 1e-5


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3 red cats and nine sheep", [3, 9]),
        ("a hundred small, shiny stars", [100]),
        ("a dozen of eggs", [12]),
        ("1,000 people", [1000]),
        ("1 dog", [1]),
        ("one dog", []),
        ("bus 23 in the snow", []),
        ("route 66 signs", []),
        ("cars in 1965", []),
        ("1965 cars", []),
        ("a 25-year-old man with dogs", []),
        ("a man of 50 years", []),
        ("a sign that says '5 cats'", []),
        ("a pair of shoes", []),
        ("5 o'clock at the docks", []),
        ("one of the dogs", []),
        ("50% of the dogs", []),
        ("1/64 scale models", []),
        ("the 1950s dogs", []),
        ("a cat", []),
        ("", []),
    ],
)
def test_finds_counts(text, numbers):
    assert [count.number for count in find_counts(text)] == numbers


def test_reduces_two_counts_to_at_most_twelve():
    text = " and ".join(f"{n} dogs" for n in (99, 50, 40, 30))
    versions = reduce_counts(text)
    assert len(versions) == 144 == len(set(versions))
    assert all(version.endswith("twelve dogs and twelve dogs") for version in versions)
