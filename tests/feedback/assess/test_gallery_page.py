"""The gallery in a browser: filters, order, boxes and lazy images."""

import json

import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")
Draw = pytest.importorskip("PIL.ImageDraw", reason="images need pillow")

from feedback.assess.test_gallery import HOSTILE, make_row, to_png  # noqa: E402
from support.browser import iterate_modes, run_axe  # noqa: E402

from pqpp_feedback.assess.agreement import HumanAnswers  # noqa: E402
from pqpp_feedback.assess.gallery import render_gallery  # noqa: E402

pytestmark = pytest.mark.browser
GET_DISPLAY = "one => getComputedStyle(one).display"
TASKS = ("Counting", "Single object", "Negation")


def write_gallery(folder, count):
    """Write images with drawn disks, and a page of verdicts on them; return the page."""
    rows, answers = [], {}
    for n in range(count):
        image = Image.new("RGB", (300, 200 + 20 * (n % 3)), (225, 230, 220))
        draw, boxes = Draw.Draw(image), []
        for k in range(1 + n % 4):
            left, top = 20 + 65 * k, 30 + 25 * ((n + k) % 4)
            draw.ellipse((left, top, left + 55, top + 55), fill=((40 * n) % 200, 90, 60 * k))
            sides = (left / 300, top / image.height, (left + 55) / 300, (top + 55) / image.height)
            boxes.append({"label": ("apple", "cup")[k % 2], "score": 0.9 - 0.2 * k, "box": sides})
        path = folder / "images" / str(n) / f"{('sdxl', 'glide')[n % 2]}_0.png"
        path.parent.mkdir(parents=True)
        image.save(path)
        evidence = {"detector": {"boxes": boxes}}
        if n % 5 == 4:
            heatmaps = {"implausibility": to_png(16, 120), "misalignment": to_png(16, 60)}
            evidence = {"heatmaps": heatmaps}
        name = f"{n}/{path.name}"
        verdict = (True, False, None)[n % 3]
        cells = {
            **{"verdict": verdict, "score": None if verdict is None else (n % 10) / 10},
            **{"task": TASKS[n % 3], "generator": path.stem[:-2], "prompt": f"{1 + n % 4} apples"},
            **{
                "reason": HOSTILE if n == 7 else f"{1 + n % 4} apple asked, {n % 3} found above 0.5"
            },
            **{"assessor": "gimbrr", "routine": "gimbrr-published", "prompt_id": str(n)},
        }
        rows.append(make_row(name, json.loads(json.dumps(evidence)), **cells))
        answers[(name,)] = n % 4 != 1
    page = folder / "gallery.html"
    page.write_text(render_gallery(rows, folder, page, HumanAnswers(answers)), encoding="utf-8")
    return page


@pytest.mark.slow
def test_page_filters_sorts_and_loads_lazily(tmp_path, open_page):
    page, requests = open_page(write_gallery(tmp_path, 400))
    visible = "article:not([hidden])"
    assert page.locator(visible).count() == 400
    assert page.locator("#count").text_content() == "400 of 400 images"
    assert sum(url.endswith(".png") for url in requests) < 100  # the others are not in view
    first = page.locator("article").first
    assert "differs" in first.get_attribute("class")
    page.select_option('[data-filter="task"]', "Counting")
    assert page.locator(visible).count() == 134
    page.select_option('[data-filter="generator"]', "glide")
    page.select_option('[data-filter="verdict"]', "match")
    assert page.locator(visible).count() == 67
    page.check("#differs")
    assert 0 < page.locator(visible).count() < 67
    page.uncheck("#differs")
    page.fill("#text", "no such words")
    assert page.locator(visible).count() == 0
    page.fill("#text", "")
    page.select_option("#order", "low")
    scores = page.eval_on_selector_all(visible, "all => all.map(one => Number(one.dataset.score))")
    assert scores == sorted(scores)
    weak = page.locator("rect.weak").first
    assert weak.evaluate(GET_DISPLAY) == "none"
    page.check("#weak")
    assert weak.evaluate(GET_DISPLAY) == "inline"
    maps = page.locator(".heat")
    assert [maps.nth(n).evaluate(GET_DISPLAY) for n in (0, 1)] == ["block", "none"]
    page.select_option("#heatmap", "misalignment")
    assert [maps.nth(n).evaluate(GET_DISPLAY) for n in (0, 1)] == ["none", "block"]
    page.uncheck("#drawn")
    drawn = page.locator("figure svg").first
    assert drawn.evaluate(GET_DISPLAY) == maps.nth(1).evaluate(GET_DISPLAY) == "none"


@pytest.mark.slow
def test_boxes_lie_on_their_objects(tmp_path, open_page):
    page, _ = open_page(write_gallery(tmp_path, 3))
    card = page.locator('article[data-image="2/sdxl_0.png"]')
    card.scroll_into_view_if_needed()
    page.wait_for_function("() => document.images[0].complete")
    image = card.locator("img.image").bounding_box()
    box = card.locator("rect").first.bounding_box()
    # The first disk of the third image begins at (20, 80) of 300 x 240 and is 55 wide.
    scale = image["width"] / 300
    assert image["height"] == pytest.approx(240 * scale, abs=1)
    assert box["x"] - image["x"] == pytest.approx(20 * scale, abs=3)
    assert box["y"] - image["y"] == pytest.approx(80 * scale, abs=3)
    assert box["width"] == pytest.approx(55 * scale, abs=5)


@pytest.mark.daily
def test_page_in_every_look(tmp_path, open_page):
    page, _ = open_page(write_gallery(tmp_path, 12))
    for look in iterate_modes(page):
        assert not run_axe(page), look
