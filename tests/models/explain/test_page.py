"""Explanations as HTML: colours, legend, and texts that try to break out."""

import re
from html.parser import HTMLParser

import pytest

from pqpp_models import Predictor
from pqpp_models.explain.explanation import Explanation, Neighbour
from pqpp_models.explain.page import colour_of, coloured_words, render_explanations

HOSTILE = '<script>alert("x")</script> \'"><img src=x onerror=1> \x1b[31m\u202e כלב 🦓 {{ 7*7 }}'


class Tags(HTMLParser):
    """Notes which tags and attributes there are."""

    def __init__(self):
        super().__init__()
        self.tags, self.names = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}


def made(**changes):
    facts = {
        "prompt": "two red cats",
        "target": "mean_hbpp",
        "words": ("two", "red", "cats"),
        "spans": ((0, 3), (4, 7), (8, 12)),
        "values": (-0.4, 0.0, 0.2),
        "errors": (0.0, 0.0, 0.0),
        "base": 1.0,
        "prediction": 0.8,
    }
    return Explanation(**{**facts, **changes})


def test_words_stand_on_their_colours():
    text = str(coloured_words(made(), 0.4))
    backgrounds = re.findall(r"background:(#\w{6})", text)
    # full orange, white, half way to blue
    assert backgrounds == ["#fdae61", "#ffffff", "#b5d6ea"]
    assert re.findall(r"<small>(.*?)</small>", text) == ["-0.400", "+0.000", "+0.200"]


def contrast(colour, ink="#111111"):
    """The ratio of WCAG 2 between two colours."""

    def light(one):
        parts = [int(one[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    bright, dark = sorted((light(colour), light(ink)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("share", [-1, -0.6, -0.2, 0, 0.2, 0.6, 1, float("nan"), 7])
def test_words_can_be_read_on_every_colour(share):
    assert contrast(colour_of(share, 1.0)) > 7


def test_hostile_texts_stay_texts():
    predictor = Predictor.from_pretrained("static")
    (found,) = predictor.explain([HOSTILE], "mean_hbpp")
    near = Neighbour(HOSTILE, 1.0, 0.5)
    one = made(**{**vars(found), "neighbours": (near,)})
    page = render_explanations([one], HOSTILE, HOSTILE, HOSTILE)
    seen = Tags()
    seen.feed(page)
    allowed = "html head meta title style body header main h1 p span h2 strong div small"
    assert set(seen.tags) <= {*allowed.split(), "table", "thead", "tr", "th", "tbody", "td"}
    names = "lang charset name content class style dir title role aria-label tabindex"
    assert seen.names <= set(names.split())
    assert not {"\x1b", "\u202e"} & set(page)
    assert "{{ 7*7 }}" in page and "🦓" in page and r"\x1b" in page
