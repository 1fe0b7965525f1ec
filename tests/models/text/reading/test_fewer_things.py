"""More things are never easier: which numbers count things, and what predictors make of them."""

import numpy as np
import pytest

from pqpp_models import Predictor
from pqpp_models.text.reading.asking_less import counts_in, with_fewer_things

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
    assert np.ptp(values[..., 0], axis=1).max() > 0.05  # numbers do count


def test_a_number_in_digits_is_the_same_in_words(static):
    pairs = [("3", "three"), ("12", "twelve"), ("20", "twenty"), ("100", "one hundred")]
    for digits, words in [*pairs, ("100", "a hundred"), ("12", "a dozen"), ("101", "101")]:
        found = static.predict([f"{n} dogs on a table" for n in (digits, words)], "alignment")
        assert abs(found[0, 0] - found[1, 0]) < 1e-5


def test_an_explanation_adds_up_to_what_is_predicted(static):
    prompt = "50 dogs on a table"
    explanation = static.explain([prompt], "alignment")[0]
    predicted = static.predict([prompt], "alignment")[0, 0]
    assert explanation.prediction == pytest.approx(predicted, abs=1e-6)
    assert sum(explanation.values) + explanation.base == pytest.approx(predicted, abs=1e-6)
    assert explanation.values[explanation.words.index("50")] < 0


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
def test_what_counts_things(text, numbers):
    assert [count.number for count in counts_in(text)] == numbers


def test_only_two_counts_are_lowered_and_none_beyond_twelve():
    text = " and ".join(f"{n} dogs" for n in (99, 50, 40, 30))
    versions = with_fewer_things(text)
    assert len(versions) == 144 == len(set(versions))
    assert all(version.endswith("twelve dogs and twelve dogs") for version in versions)
