"""The reader against prompts as people type them, which were written before it."""

import json
import pathlib

import pytest

from pqpp_backbones.prompt.leaving_out import leave_one_out
from pqpp_backbones.prompt.numbers import find_numbers
from pqpp_backbones.prompt.prompt import Prompt
from pqpp_backbones.prompt.quoted import mask_quotations
from pqpp_datasets.prompt_text import normalise

DIALECTS = pathlib.Path(__file__).parent / "dialects"
CASES = [
    json.loads(line)
    for path in sorted(DIALECTS.glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["prompt"][:40].replace("\n", " "))
def test_a_prompt_is_read_as_its_case_says(case):
    reading = Prompt.read(case["prompt"])
    assert normalise(reading.content) == case["content"]
    assert {kind for kind, _ in reading.ignored} == set(case["ignored"])
    assert [text.lower() for text in reading.unwanted] == case.get("unwanted", [])
    if "numbers" in case:
        assert [n.value for n in find_numbers(mask_quotations(reading.content))] == case["numbers"]
    if "quoted" in case:
        assert list(reading.texts) == case["quoted"]


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (
            "(masterpiece:1.3), a girl in a red dress",
            "weight: (masterpiece:1.3); quality: masterpiece",
        ),
        ("a cat, [rain:heavy snow:0.5], (a red hat:1.2)", "weight: [rain:heavy snow:0.5], (…:1.2)"),
        ("2girls, long_hair on a beach", "tag: 2girls, long_hair"),
        ("(a sign 'STOP':1.3), a cat", "weight: (…:1.3)"),
    ],
)
def test_what_is_told_of_a_mark_is_no_more_than_it(prompt, told):
    assert Prompt.read(prompt).ignored_text == told


WANTED = json.loads((pathlib.Path(__file__).parent / "wanted_texts.json").read_text("utf-8"))


def test_texts_that_prompts_want_drawn():
    """Every text prompt of DrawBench, all of PartiPrompts on writing, and some of all kinds."""
    assert len(WANTED) >= 150
    assert not {p: read for p, texts in WANTED if (read := list(Prompt.read(p).texts)) != texts}


@pytest.mark.parametrize("text", ["by Monet ", "in the style of ", "'a ", "(", "by Aa Bb ", "a, "])
def test_no_text_is_too_long(text):
    typed = "a cat " + text * 3000
    assert Prompt.read(typed).content.startswith("a cat")
    assert len(leave_one_out(Prompt.read(typed).content, typed)) <= 64
