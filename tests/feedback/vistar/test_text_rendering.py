"""Text rendering on drawn texts, and its rules by hand."""

from pathlib import Path

import pytest

pytest.importorskip("rapidocr", reason="text rendering needs pqpp[assess]")
pytest.importorskip("PIL.Image")

from support.drawn_texts import draw_text

from pqpp_feedback.assess.assessor import format_evidence
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.run import assess_rows
from pqpp_feedback.vistar.scores.text_rendering import TextRenderingScore


def scores(seeds):
    score, found = TextRenderingScore(), []
    for seed in seeds:
        image, text = draw_text(seed)
        picture = Picture(Path("a.png"), "", about={"text": text})
        (evidence,) = score.observe([image], [picture])
        format_evidence(evidence)
        found.append(score.score(evidence, picture).score)
    return found


def test_some_drawn_texts():
    assert sum(scores(range(3))) / 3 >= 0.95


@pytest.mark.slow
def test_200_drawn_texts():
    found = scores(range(1000, 1200))
    assert sum(found) / len(found) >= 0.95


def judged(pieces, about=None, prompt=""):
    picture = Picture(Path("a.png"), prompt, about=about or {})
    return TextRenderingScore().score({"pieces": pieces}, picture)


def test_a_case_by_hand():
    pieces = [
        {"text": "GRAND", "confidence": 0.9},
        {"text": "canyn!", "confidence": 0.8},
        {"text": "xx", "confidence": 0.4},  # too unsure to count
    ]
    said = judged(pieces, prompt='A poster that says "Grand Canyon"')
    # grand canyn / grand canyon: 1 - 1/12 of the letters; one of three tokens.
    assert said.score == pytest.approx((11 / 12 + 1 / 3) / 2)
    assert 'read "grand canyn"' in said.reason and said.verdict is None


@pytest.mark.parametrize(
    ("text", "script", "unread"),
    [("ОТКРЫТО", "usual", "cyrillic"), ("Bar ОТКРЫТО", "cyrillic", "")],
)
def test_a_text_of_letters_that_the_reader_does_not_know_has_no_score(
    tmp_path, text, script, unread
):
    from PIL import Image

    Image.new("RGB", (32, 32)).save(tmp_path / "a.png")
    score = TextRenderingScore(read=lambda image: [], text_script=script)
    picture = Picture(tmp_path / "a.png", f'a sign that says "{text}"')
    (row,) = assess_rows([picture], [score], 1)
    assert row["score"] == (None if unread else 0)
    assert (f"the requested text has {unread} letters" in row["reason"]) == bool(unread)
