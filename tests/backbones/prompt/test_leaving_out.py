"""Prompts without one word or phrase: the rest in English, and positions as typed."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_backbones.prompt.leaving_out import leave_one_out
from pqpp_backbones.prompt.prompt import Prompt

CASES = """
a red dog on a table | red: a dog on a table | dog: a table | table: a red dog
an old dog | old: a dog
a black and white owl | black: a white owl | white: a black owl
a very small orange | very: a small orange | small: an orange
two dogs and one cat | two: dogs and one cat | dogs: one cat | one: two dogs and a cat
One eagle | One: An eagle
hundreds of dogs on a table | hundreds of: dogs on a table
a man riding a wave | man: a wave | riding: a man with a wave | wave: a man
two men in suits juggle seven oranges | suits: two men juggle seven oranges | \
juggle: two men in suits with seven oranges | seven: two men in suits juggle oranges
a cat, a dog and a bird | cat: a dog and a bird | dog: a cat and a bird | bird: a cat and a dog
a bench left of an elephant | left of: a bench and an elephant
a dog sitting on a mat | sitting: a dog on a mat | mat: a dog sitting
a horse without legs | horse: no legs | without legs: a horse
a street with no cars | street: no cars | no cars: a street
a street sign that says 'NO PARKING' | street: a sign that says 'NO PARKING' | \
sign: the words 'NO PARKING' | 'NO PARKING': a street sign
a woman wearing a hat and holding a cup | hat: a woman holding a cup | \
holding: a woman wearing a hat with a cup
Volodymyr Zelenskyy giving a speech | Volodymyr Zelenskyy: a speech
plates of food and glasses of wine | glasses: plates of food and wine
a man holding a bat up at a plate | bat: a man at a plate
a tall building on a hill | building: a hill | hill: a tall building
long hair, smile | long: hair, smile | hair: smile | smile: long hair
"""


@pytest.mark.parametrize("line", CASES.replace("\\\n", "").strip().splitlines())
def test_rest_is_english(line):
    prompt, *expected = line.split(" | ")
    rests = {one.phrase: one.rest for one in leave_one_out(prompt)}
    expected_rests = dict(pair.split(": ", 1) for pair in expected)
    assert {phrase: rests.get(phrase) for phrase in expected_rests} == expected_rests


@pytest.mark.parametrize("prompt", ["cat", "a dog", "...", "", "the cat.", "red and"])
def test_single_phrase_cannot_be_removed(prompt):
    assert leave_one_out(prompt) == []


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a red knight --ar 16:9 --v 5", {"red": 2}),
        ("masterpiece, a red knight, by greg rutkowski", {"red": 15}),
        ("(red:1.3) knight, 8k, trending on artstation", {"red": 1}),
        ("a detailed castle, detailed, 4k", {"detailed": 2}),
        ("1girl, long_hair, 8k", {"1": 0, "girl": 1, "long": 7, "hair": 12}),
        ("４k, ＲＥＤ cat  on a mat, 4k", {"ＲＥＤ": 4, "cat": 8, "mat": 18}),
    ],
)
def test_positions_are_in_typed_prompt(typed, expected):
    omissions = leave_one_out(Prompt.read(typed).content, typed)
    normalised = {unicodedata.normalize("NFKC", phrase): at for phrase, at in expected.items()}
    assert {unicodedata.normalize("NFKC", one.phrase): one.start for one in omissions} == normalised


WORDS = ["a", "red", "cat,", "on", "of", "up", "and", "2", "'x'", "--ar", "no", "sitting"]


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_positions_are_ordered_and_within_any_text(text):
    omissions = leave_one_out(Prompt.read(text).content, text)
    for one in omissions:
        assert 0 <= one.start < one.end <= len(text) and one.rest.strip()
    assert all(one.end <= other.start for one, other in pairwise(omissions))
