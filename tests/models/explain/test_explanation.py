"""`Predictor.explain`: sums, oracles, hostile texts, what is refused."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.made_up import made_up

from pqpp_models import Predictor
from pqpp_models.explain.words import MOST_WORDS, word_spans

HOSTILE = [
    "<script>alert('x')</script> & \"a cat\"",
    "a \x1b[31mred\x00 cat\x07",
    "🦓🦓 👩‍👩‍👧 three 🏳️‍🌈 zebras",
    "\u202eكلب يركب دراجة\u202c ليلا",
    "...",
    "猫が椅子に座っている",
    "\ud800 a cat",
    " ".join(f"word{n}" for n in range(2000)),
    "x" * 5000,
]


class Told(Predictor):
    """A game of words, and the texts that were asked."""

    name = "told"
    targets = ("mean_hbpp", "mean_rr")

    def __init__(self, value):
        self.value, self.asked = value, []

    def _score(self, rows, targets):
        self.asked.append(list(rows))
        return np.array([[self.value(row)] * len(targets) for row in rows])

    def _prior(self, targets):
        return np.array([0.5] * len(targets))

    @classmethod
    def from_checkpoint(cls, folder, config, tensors):
        raise NotImplementedError


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


def brute_force(predictor, prompt, target, base):
    """Shapley's formula word by word, with texts put together anew and each asked alone."""
    words = prompt.split(" ")
    n = len(words)

    def value(kept):
        text = " ".join(words[i] for i in sorted(kept))
        return predictor.predict([text], target)[0, 0] if kept else base

    shares = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        share = 0.0
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for some in combinations(others, size):
                share += weight * (value({*some, i}) - value(set(some)))
        shares.append(share)
    return shares


@pytest.mark.parametrize("name", ["static", "mean_word_length"])
def test_values_are_those_of_the_formula(name):
    predictor = Predictor.from_pretrained(name)
    prompt = "two men juggle seven oranges."
    found = predictor.explain([prompt], "mean_hbpp")[0]
    expected = brute_force(predictor, prompt, "mean_hbpp", found.base)
    assert found.values == pytest.approx(expected, abs=1e-5)  # batches of other shapes
    assert found.errors == (0.0,) * 5 and found.permutations == 0


def test_a_sum_of_letters_is_shared_by_the_letters():
    predictor = Told(lambda text: 0.5 + sum(len(word) for word in text.split()))
    found = predictor.explain(["a red horse"])[0]
    assert found.values == pytest.approx((1, 3, 5)) and found.base == 0.5
    assert found.prediction == 9.5 and found.target == "mean_hbpp"
    longer = predictor.explain(["a red horse " * 5])[0]
    assert longer.values == pytest.approx((1, 3, 5) * 5)
    assert longer.errors == pytest.approx((0,) * 15, abs=1e-12) and longer.permutations > 0


@pytest.mark.parametrize("prompt", HOSTILE)
def test_hostile_texts_add_up(static, prompt):
    found = static.explain([prompt], "mean_hbpp")[0]
    assert found.prompt == prompt and 1 <= len(found.words) <= MOST_WORDS
    assert found.base + sum(found.values) == pytest.approx(found.prediction, abs=1e-9)
    assert found.prediction == pytest.approx(static.predict([prompt], "mean_hbpp")[0, 0], abs=1e-5)
    assert tuple(prompt[start:end] for start, end in found.spans) == found.words
    assert len(found.as_table()) == len(found.words)
    assert json.loads(json.dumps(found.as_record()))["words"] == list(found.words)


@given(
    st.text(max_size=80) | st.lists(st.sampled_from(["a", "-", "cat,", " ", "\n"])).map(" ".join)
)
def test_any_text_adds_up(text):
    predictor = Told(lambda one: math.sin(sum(map(ord, one)) / 100))
    found = predictor.explain([text])[0]
    if not text.strip():
        assert found.words == () and math.isnan(found.prediction)
        return
    assert found.prediction == predictor.value(text)
    assert found.base + sum(found.values) == pytest.approx(found.prediction, abs=1e-9)
    inside = {at for start, end in found.spans for at in range(start, end)}
    assert all(at in inside for at, one in enumerate(text) if not one.isspace())


def test_the_same_seed_gives_the_same_and_neighbours_change_nothing(static):
    long = "a man in a red coat walks two small dogs past the old station"
    alone = static.explain([long], "mean_p10")[0]
    assert alone == static.explain([long], "mean_p10")[0]
    beside = static.explain(["a cat", long, "two dogs in the snow"], "mean_p10")[1]
    assert beside.values == pytest.approx(alone.values, abs=1e-5)
    other = static.explain([long], "mean_p10", seed=1)[0]
    assert other.values != alone.values
    assert other.prediction == pytest.approx(alone.prediction, abs=1e-5)
    close = static.explain([long], "mean_p10", permutations=2000)[0]
    assert close.permutations == 2000 and max(close.errors) < max(alone.errors)
    away = np.abs(np.subtract(alone.values, close.values)) / np.hypot(alone.errors, close.errors)
    assert np.median(away) < 1.5 and away.max() < 5


def test_base_of_a_fitted_predictor_is_the_mean_that_it_was_fitted_to(fitted):
    _, scores = made_up(120)
    for target, mean in zip(fitted.targets, scores.mean(axis=0), strict=True):
        base = fitted.explain(["a cat"], target)[0].base
        assert base == pytest.approx(mean, abs=0.03)
        assert base == pytest.approx(fitted.calibration["prior"][fitted.targets.index(target)])


def test_a_text_without_prediction_counts_as_no_word():
    predictor = Told(lambda text: math.nan if text == "of" else float(len(text.split())))
    found = predictor.explain(["cup of"])[0]
    # v(cup) = 1, v(of) = v(nothing) = .5, v(both) = 2
    assert found.values == pytest.approx(((0.5 + 1.5) / 2, (1.0 + 0.0) / 2))
    assert all(map(math.isnan, predictor.explain(["of"])[0].values))


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("A cat, asleep.", ["A", "cat,", "asleep."]),
        ("- a cat - asleep !", ["- a", "cat -", "asleep !"]),
        ("?! ...", ["?! ..."]),
        ("1 + 1 = 2", ["1 +", "1 =", "2"]),
        ("🦓 © cat", ["🦓", "©", "cat"]),
    ],
)
def test_words_as_people_see_them(prompt, words):
    assert [prompt[start:end] for start, end in word_spans(prompt)] == words
