"""Text rendering: scores of drawn texts and by hand, and unknown scripts."""

from pathlib import Path

import pytest

pytest.importorskip("rapidocr", reason="text rendering needs pqpp[assess]")
pytest.importorskip("PIL.Image")

from support.drawn_texts import draw_text

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.run import assess_rows
from pqpp_feedback.vistar.scores.text_rendering import TextRenderingScore


@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(1000, 1200), marks=pytest.mark.slow)]
)
def test_score_of_drawn_texts(seeds):
    score, scores = TextRenderingScore(), []
    for seed in seeds:
        image, text = draw_text(seed)
        picture = Picture(Path("a.png"), "", about={"text": text})
        (evidence,) = score.observe([image], [picture])
        scores.append(score.score(evidence, picture).score)
    assert sum(scores) / len(scores) >= 0.95


def score_pieces(pieces, about=None, prompt=""):
    picture = Picture(Path("a.png"), prompt, about=about or {})
    return TextRenderingScore().score({"pieces": pieces}, picture)


def test_score_by_hand():
    pieces = [
        {"text": "GRAND", "confidence": 0.9},
        {"text": "canyn!", "confidence": 0.8},
        {"text": "xx", "confidence": 0.4},  # below the minimum confidence
    ]
    verdict = score_pieces(pieces, prompt='A poster that says "Grand Canyon"')
    # grand canyn / grand canyon: 1 - 1/12 of the letters; one of three tokens.
    assert verdict.score == pytest.approx((11 / 12 + 1 / 3) / 2)
    assert 'read "grand canyn"' in verdict.reason and verdict.verdict is None
    assert score_pieces([], {"text": "!!!"}).score is None  # punctuation is not compared


@pytest.mark.parametrize(
    ("text", "script", "unknown"),
    [("ОТКРЫТО", "usual", "cyrillic"), ("Bar ОТКРЫТО", "cyrillic", ""), ("µmʻ", "usual", "")],
)
def test_unknown_script_has_no_score(tmp_path, text, script, unknown):
    from PIL import Image

    Image.new("RGB", (32, 32)).save(tmp_path / "a.png")
    score = TextRenderingScore(read=lambda image: [], text_script=script)
    picture = Picture(tmp_path / "a.png", f'a sign that says "{text}"')
    (row,) = assess_rows([picture], [score], 1)
    assert row["score"] == (None if unknown else 0)
    assert (f"the requested text has {unknown} letters" in row["reason"]) == bool(unknown)
