"""`Predictor.explain`: changes, ignored text, hostile texts and HTML."""

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_backbones.prompt.leaving_out import leave_one_out
from pqpp_backbones.prompt.prompt import Prompt
from pqpp_models import Predictor
from pqpp_models.explain.explanation import Change, Explanation

HOSTILE = [
    "<script>alert('x')</script> & \"a cat\" {{ 7*7 }}",
    "a \x1b[31mred\x00 cat\x07 on a mat",
    "🦓🦓 👩‍👩‍👧 three 🏳️‍🌈 zebras",
    "\u202eكلب يركب دراجة\u202c ليلا",
    "...",
    "\ud800 a red cat",
    " ".join(f"word{n}" for n in range(2000)),
    "x" * 5000,
]


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


@pytest.mark.parametrize(
    ("typed", "credited"),
    [
        ("a knight --ar 16:9", []),
        ("a black knight on a horse --v 5", ["black", "knight", "horse"]),
        ("masterpiece, a black knight on a horse", ["black", "knight", "horse"]),
        ("a black knight on a horse by greg rutkowski", ["black", "knight", "horse"]),
        ("a knight on a horse, 8k, trending on artstation", ["knight", "horse"]),
        ("a knight on a horse, in the style of van gogh", ["knight", "horse"]),
        ("(a black knight:1.3) on a horse <lora:x:1>", ["black", "knight", "horse"]),
    ],
)
def test_ignored_text_gets_no_change(static, typed, credited):
    (explanation,) = static.explain([typed], "alignment")
    assert [one.phrase for one in explanation.changes] == credited
    assert [typed[one.start : one.end] for one in explanation.changes] == credited


@pytest.mark.parametrize("name", ["static", "mean_word_length"])
def test_change_is_difference_of_two_predictions(name):
    predictor = Predictor.from_pretrained(name)
    prompts = ["two men in suits juggle seven oranges", "a red dog, 8k --ar 1:1"]
    for prompt, result in zip(prompts, predictor.explain(prompts, "mean_hbpp"), strict=True):
        content = Prompt.read(prompt).content
        variants = leave_one_out(content, prompt)
        assert variants and len(variants) == len(result.changes)
        (value,) = predictor.predict([content], "mean_hbpp")[0]
        for one, (phrase, *span, change) in zip(variants, result.changes, strict=True):
            (rest,) = predictor.predict([one.rest], "mean_hbpp")[0]
            assert (phrase, *span) == one[:3] and change == pytest.approx(value - rest, abs=1e-5)


WORDS = ["a", "red", "cat,", "on", "and", "two", "'x'", "--ar 1:1", "8k", "no", "1girl", "\n"]


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_explains_any_text(static, text):
    (result,) = static.explain([text], "mean_rr")
    assert result.prompt == text and "".join(piece for piece, _ in result.iterate_pieces()) == text
    values, _, _, out_of_domain, _ = static.predict_with_uncertainty([text], "mean_rr")
    value = float("nan") if out_of_domain[0] else values[0, 0]
    assert result.prediction == pytest.approx(value, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("prompt", ["", "cat", "a dog", "qwx zzyv 77", "ein Hund auf einem Tisch"])
def test_single_words_and_unread_prompts_have_no_changes(static, prompt):
    assert static.explain([prompt], "alignment")[0].changes == ()


class TagParser(HTMLParser):
    """A parser that collects the tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen |= {tag, *(name for name, _ in attrs)}


@pytest.mark.parametrize("prompt", HOSTILE)
def test_html_escapes_hostile_texts(static, prompt):
    (explanation,) = static.explain([prompt], "mean_hbpp")
    assert json.loads(json.dumps(explanation.as_record()))["changes"] == [
        one._asdict() for one in explanation.changes
    ]
    assert len(explanation.as_table()) == len(explanation.changes) <= 64
    page, tags = explanation.as_html(), TagParser()
    tags.feed(page)
    assert tags.seen <= {"div", "class", "dir", "mark", "style", "small"}
    assert not {"\x1b", "\u202e", "\x00", "\ud800"} & set(page)


@pytest.mark.parametrize(
    ("change", "colour"),
    # A fifth of the range of alignment, 0 to 1, has the full colour.
    [(-0.2, "#fdae61"), (0.0, "#ffffff"), (0.1, "#b5d6ea"), (7.0, "#6baed6"), (-1.0, "#fdae61")],
)
def test_html_colours_phrases_by_change(change, colour):
    page = Explanation("a red cat", "alignment", 0.5, (Change("red", 2, 5, change),)).as_html()
    assert re.findall(r"background:(#\w{6})", page) == [colour]
    assert page.index("a <mark") < page.index("red <small>") and page.endswith("</mark> cat</div>")


class WordCountPredictor(Predictor):
    """A predictor of the number of words, which is NaN for "cup"."""

    name = "told"
    targets = ("mean_hbpp",)

    def _score(self, rows, targets):
        return np.array([[math.nan if row == "cup" else float(len(row.split()))] for row in rows])

    @classmethod
    def from_checkpoint(cls, folder, config, tensors):
        raise NotImplementedError


def test_skips_changes_without_prediction():
    (explanation,) = WordCountPredictor().explain(["red cup, tea"])
    # three words; "red, tea" and "red cup" have two, and "cup, tea" too
    assert explanation.changes == (("red", 0, 3, 1.0), ("cup", 4, 7, 2.0), ("tea", 9, 12, 1.0))
    (explanation,) = WordCountPredictor().explain(["red cup"])
    assert explanation.changes == ()
