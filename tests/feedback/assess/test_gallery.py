"""`render_gallery`: escaping, order, missing images and heatmaps."""

import base64
import io
import json

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import write_images  # noqa: E402

from pqpp_feedback.assess.agreement import HumanAnswers  # noqa: E402
from pqpp_feedback.assess.gallery import render_gallery  # noqa: E402
from pqpp_feedback.assess.verdicts import COLUMNS, read_verdicts, write_verdicts  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402
from pqpp_files.errors import FileError  # noqa: E402

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}\x1b[2J\u202e"


def to_png(side=8, value=255):
    buffer = io.BytesIO()
    Image.new("L", (side, side), value).save(buffer, "png")
    return base64.b64encode(buffer.getvalue()).decode()


def make_row(image="1/m_0.png", evidence=None, **cells):
    return {
        **{"image": image, "prompt_id": "1", "prompt": "a cat", "task": "t", "generator": "m"},
        **{"assessor": "a", "routine": "a-one", "verdict": True, "score": 0.5, "reason": "why"},
        **{"evidence": json.dumps(evidence or {}), "inputs": "{}", "model": "{}", "revision": "{}"},
        **cells,
    }


@pytest.fixture
def folder(tmp_path):
    write_images(tmp_path / "images", 3, ["m"])
    return tmp_path


def test_escapes_all_strings(folder):
    words = [{"text": HOSTILE, "start": 0, "end": 9, "probability": 1.0}]
    evidence = {
        "words": words,
        "heatmaps": {HOSTILE: to_png()},
        "boxes": [{"label": HOSTILE, "score": 0.9, "box": [0, 0, 1, 1]}],
    }
    names = ("prompt", "task", "generator", "assessor", "routine", "reason", "prompt_id")
    hostile_row = make_row("1/m_0.png", evidence, **dict.fromkeys(names, HOSTILE))
    page = render_gallery([hostile_row], folder, folder / "p.html")
    assert {"\x1b", "\u202e"}.isdisjoint(page) and r"\x1b[2J\u202e" in page
    assert page.count("<script>") == page.count("</script>") == 1
    assert "<img src=x" not in page and "{{7*7}}" in page
    assert "<mark>&lt;/script&gt;</mark>" in page
    for name in ("data-task=", "data-generator=", "data-routine="):
        value = page.partition(name + '"')[2].partition('"')[0]
        assert "<" not in value and "'" not in value and "&#34;" in value


@pytest.mark.parametrize("image", ["../../secret.png", "/etc/passwd", "1/none.png", "1"])
def test_hides_images_outside_the_folder(folder, image):
    Image.new("RGB", (9, 9)).save(folder / "secret.png")
    for embedded in (False, True):
        page = render_gallery(
            [make_row("1/m_0.png"), make_row(image)], folder / "images", folder / "p.html", None,
            embedded=embedded,
        )  # fmt: skip
        assert page.count('class="image"') == 1 and "Image missing" in page


def test_missing_image_does_not_hide_others(folder):
    rows = [make_row("0/gone_0.png"), *(make_row(f"{n}/m_0.png") for n in range(3))]
    assert render_gallery(rows, folder, folder / "p.html").count('class="image"') == 3
    with pytest.raises(FeedbackError, match="has none of the"):
        render_gallery(rows[:1], folder, folder / "p.html")


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"image"}))
def test_shows_rows_without_a_cell(folder, name):
    page = render_gallery([make_row(**{name: None})], folder, folder / "p.html")
    assert page.count('class="image"') == 1


def test_packed_verdicts_respect_the_memory_limit(tmp_path, monkeypatch):
    path, row = tmp_path / "verdicts.parquet", make_row(prompt="x" * 10_000)
    write_verdicts(path, [row] * 1000)
    assert len(list(read_verdicts(path))) == 1000 and path.stat().st_size < 100_000
    monkeypatch.setenv("PQPP_MAX_BYTES", "1000000")
    with pytest.raises(FileError, match="needs more than 1,000,000 bytes"):
        list(read_verdicts(path))


def test_sorts_disagreement_with_people_first(folder):
    rows = [make_row(f"{n}/m_0.png", score=n / 4, verdict=n > 0) for n in range(3)]
    people = HumanAnswers({("0/m_0.png",): False, ("1/m_0.png",): True, ("2/m_0.png",): False})
    page = render_gallery(rows, folder, folder / "p.html", people)
    order = [page.index(f'data-image="{n}/m_0.png"') for n in (2, 0, 1)]
    assert order == sorted(order) and page.count('class="card differs"') == 1
    assert "people: <b>no match</b>" in page
    assert "a-one: 3 rows, 2 of 3 verdicts are a match; agreement with people: accuracy" in page
    page_without_people = render_gallery(rows, folder, folder / "p.html")
    assert "only disagreement with annotators" not in page_without_people


def test_tints_heatmaps(folder):
    page = render_gallery(
        [make_row(evidence={"heatmaps": {"harm": to_png(4, 255)}})], folder, folder / "p"
    )
    source = page.partition('loading="lazy" src="data:image/png;base64,')[2]
    image = Image.open(io.BytesIO(base64.b64decode(source.partition('"')[0])))
    assert np.asarray(image)[0, 0].tolist() == [0xD5, 0x5E, 0, 204]
