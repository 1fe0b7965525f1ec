"""Rich feedback: where points are, undo, words, the draft, the flag, and the export of it all."""

import numpy as np
import pytest
from support.kind_pages import SIZE, to_the_end, values

pytestmark = pytest.mark.browser


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_keys_alone(serve, visitor):
    """The cross starts in the middle and moves by 1/50 of the height, 1/200 with Shift."""
    served = serve("rich")
    page = visitor().join(served.link())
    press(page, "p", *["ArrowRight"] * 5, *["ArrowDown"] * 5, "Enter")
    press(page, "m", "Shift+ArrowLeft", "Space")
    press(page, "w", "ArrowRight", "Space", "End", "Space", "Space", "3", "4", "5", "2")
    assert page.evaluate("document.activeElement.dataset.part") == "next"
    press(page, "Enter")
    to_the_end(page)
    scores = {"plausibility": 3, "alignment": 4, "aesthetics": 5, "overall": 2}
    assert values(served) == [
        {
            "implausible": [[0.6, 0.6]],
            "misaligned": [[0.595, 0.6]],
            "words": [1],
            "scores": scores,
            "inappropriate": False,
        }
    ]


def test_the_cross_stays_on_the_image_and_a_missing_score_is_next(serve, visitor):
    served = serve("rich")
    page = visitor().join(served.link())
    press(page, "4", "Enter")
    assert page.evaluate("document.activeElement.name") == "score-alignment"
    assert page.url.endswith("/work")
    press(page, "p", *["ArrowUp"] * 26, *["ArrowLeft"] * 51, "Enter", "1", "1", "1", "Enter")
    to_the_end(page)
    assert values(served)[0]["implausible"] == [[0, 0]]


def test_clicks_give_exact_fractions(serve, visitor):
    served = serve("rich")
    page = visitor(device_scale_factor=3).join(served.link())
    press(page, "z")
    box = page.locator(".canvas").bounding_box()
    stage = page.locator(".stage").bounding_box()
    places = [(int(stage["x"]) + 60 + 91 * n, int(stage["y"]) + 200 + 37 * n) for n in range(4)]
    for x, y in places:
        page.mouse.click(x, y)
    press(page, "1", "2", "3", "4", "Enter")
    to_the_end(page)
    expected = [[(x - box["x"]) / box["width"], (y - box["y"]) / box["height"]] for x, y in places]
    np.testing.assert_allclose(values(served)[0]["implausible"], expected, atol=1e-6)


def test_a_drawn_disk_is_a_twentieth_of_the_height(serve, visitor):
    page = visitor().join(serve("rich").link())
    page.locator(".canvas").click(position={"x": 200, "y": 150})
    box = page.locator(".canvas").bounding_box()
    assert box["width"] / box["height"] == pytest.approx(1, rel=1e-3)  # with bars
    x, y, radius = page.locator(".canvas .disk").evaluate(
        """disk => {
            const scale = disk.getScreenCTM();
            const [x, y, r] = ["cx", "cy", "r"].map(name => disk[name].baseVal.value);
            return [x * scale.a + scale.e, y * scale.d + scale.f, r * scale.d];
        }"""
    )
    assert radius == pytest.approx(box["height"] * SIZE[1] / SIZE[0] / 20, rel=1e-2)
    assert (x, y) == pytest.approx((box["x"] + 200, box["y"] + 150), abs=0.6)


def test_undo_and_removal(serve, visitor):
    page = visitor().join(serve("rich").link())
    canvas, disks = page.locator(".canvas"), page.locator(".canvas .disk")
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    for x in (100, 200, 300):
        canvas.click(position={"x": x, "y": 100})
    page.get_by_role("button", name="cube", exact=True).click()
    assert page.locator(".word[aria-pressed=true]").all_inner_texts() == ["cube"]
    press(page, "Backspace")
    assert page.locator(".word[aria-pressed=true]").count() == 0
    press(page, "Control+z")
    assert disks.count() == 2
    page.get_by_role("button", name="Implausible: remove point 1").click()
    assert disks.count() == 1
    undo.click()
    assert disks.count() == 2
    press(page, "Backspace", "Backspace", "Backspace")
    assert disks.count() == 0 and undo.is_disabled()


def test_inappropriate_needs_no_scores(serve, visitor):
    served = serve("rich")
    page = visitor().join(served.link())
    press(page, "x")
    assert page.get_by_label("Inappropriate image").is_checked()
    press(page, "Enter")
    to_the_end(page)
    [value] = values(served)
    assert value["inappropriate"] is True and value["scores"] == {}


def test_a_half_answer_outlives_the_tab(serve, visitor):
    served = serve("rich")
    person = visitor()
    page = person.join(served.link())
    page.locator(".canvas").click(position={"x": 100, "y": 100})
    press(page, "3", "2")
    page.close()
    page = person.ready(person.open(f"{served.url}/work"))
    assert page.locator(".canvas .disk").count() == 1
    press(page, "5", "5", "Enter")
    to_the_end(page)
    assert values(served)[0]["scores"] == {
        "plausibility": 3,
        "alignment": 2,
        "aesthetics": 5,
        "overall": 5,
    }
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('draft'))") == []


def overall(served, page, score):
    """Wait until the overall score is in the database, whatever the page shows by then."""
    for _ in range(300):
        if [value["scores"]["overall"] for value in values(served)] == [score]:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{values(served)} holds no overall score of {score}")


def test_a_draft_that_was_sent_hides_no_later_answer(serve, visitor):
    """Sent while offline, the tab closed, then changed on another device."""
    served = serve("rich")
    link, person = served.link(), visitor()
    page = person.join(link)
    assignment = page.evaluate("history.state.assignment")
    page.route("**/api/answers", lambda route: route.abort())
    press(page, "1", "1", "1", "1", "Enter")
    page.wait_for_selector("#saved[data-state='offline']")
    page.close()
    page = person.open(f"{served.url}/work")
    overall(served, page, 1)
    other = visitor()
    page = other.open(link)
    page.locator("main form button.primary").click()
    to_the_end(page)
    page = other.ready(other.open(f"{served.url}/work/{assignment}"))
    page.get_by_role("group", name="Overall").get_by_role("radio", name="5").check()
    press(page, "Enter")
    overall(served, page, 5)
    page = person.ready(person.open(f"{served.url}/work/{assignment}"))
    assert page.locator("[name=score-overall]:checked").get_attribute("value") == "5"


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.daily)])
def test_a_point_can_be_set_in_every_corner(serve, visitor, width):
    """Nothing lies over the image, the button of the zoom least of all."""
    page = visitor(viewport={"width": width, "height": 800}).join(serve("rich").link())
    box = page.locator(".canvas").bounding_box()
    for number, (x, y) in enumerate(((3, 3), (-3, 3), (3, -3), (-3, -3)), 1):
        place = {"x": x % box["width"], "y": y % box["height"]}
        page.locator(".canvas").click(position=place)
        assert page.locator(".points li").count() == number


def test_no_flag_where_the_study_has_none(serve, visitor):
    page = visitor().join(serve("rich", task={"inappropriate": False}).link())
    assert not page.get_by_label("Inappropriate image").is_visible()
    press(page, "x")
    assert page.locator(".primary[aria-disabled=true]").count() == 1
