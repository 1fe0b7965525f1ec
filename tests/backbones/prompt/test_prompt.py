"""Reading of typed prompts: content, ignored parts, numbers and texts to draw."""

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
def test_reads_prompts_of_all_dialects(case):
    prompt = Prompt.read(case["prompt"])
    assert normalise(prompt.content) == case["content"]
    assert {kind for kind, _ in prompt.ignored} == set(case["ignored"])
    assert [text.lower() for text in prompt.unwanted] == case.get("unwanted", [])
    if "numbers" in case:
        assert [n.value for n in find_numbers(mask_quotations(prompt.content))] == case["numbers"]
    if "quoted" in case:
        assert list(prompt.texts) == case["quoted"]


@pytest.mark.parametrize(
    ("prompt", "expected"),
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
def test_ignored_text_shows_only_marks(prompt, expected):
    assert Prompt.read(prompt).ignored_text == expected


def test_finds_texts_to_draw():
    """The text prompts of DrawBench, PartiPrompts on writing, and some prompts of other kinds."""
    file = pathlib.Path(__file__).with_name("texts_to_draw.json")
    expected = dict(json.loads(file.read_text("utf-8")))
    assert len(expected) >= 150
    assert {prompt: list(Prompt.read(prompt).texts) for prompt in expected} == expected


@pytest.mark.parametrize("quote", ["'", '"', "`", "«»"])
def test_nested_quotation_marks_are_read(quote):
    typed = quote[0] * 9000 + "a cat" + quote[-1] * 9000
    assert "a cat" in Prompt.read(typed).content


@pytest.mark.parametrize("text", ["by Monet ", "in the style of ", "'a ", "(", "by Aa Bb ", "a, "])
def test_long_repetitive_prompts_are_read(text):
    typed = "a cat " + text * 3000
    assert Prompt.read(typed).content.startswith("a cat")
    assert len(leave_one_out(Prompt.read(typed).content, typed)) <= 64
