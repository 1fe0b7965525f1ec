"""The page of the kind `rich`: points, words, scores, undo, drafts and the flag."""

import numpy as np
import pytest
from support.kind_pages import SIZE, get_values, wait_for_thanks

pytestmark = pytest.mark.browser


def press_keys(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_keys_give_a_whole_answer(serve, make_visitor):
    # The cross starts in the middle and moves by 1/50 of the height, or 1/200 with Shift.
    served = serve("rich")
    page = make_visitor().join(served.link())
    press_keys(page, "p", *["ArrowRight"] * 5, *["ArrowDown"] * 5, "Enter")
    press_keys(page, "m", "Shift+ArrowLeft", "Space")
    press_keys(page, "w", "ArrowRight", "Space", "End", "Space", "Space", "3", "4", "5", "2")
    assert page.evaluate("document.activeElement.dataset.part") == "next"
    press_keys(page, "Enter")
    wait_for_thanks(page)
    scores = {"plausibility": 3, "alignment": 4, "aesthetics": 5, "overall": 2}
    assert get_values(served) == [
        {
            "implausible": [[0.6, 0.6]],
            "misaligned": [[0.595, 0.6]],
            "words": [1],
            "scores": scores,
            "inappropriate": False,
        }
    ]


def test_cross_stays_on_the_image_and_missing_score_gets_focus(serve, make_visitor):
    served = serve("rich")
    page = make_visitor().join(served.link())
    press_keys(page, "4", "Enter")
    assert page.evaluate("document.activeElement.name") == "score-alignment"
    assert page.url.endswith("/work")
    press_keys(page, "p", *["ArrowUp"] * 26, *["ArrowLeft"] * 51, "Enter", "1", "1", "1", "Enter")
    wait_for_thanks(page)
    assert get_values(served)[0]["implausible"] == [[0, 0]]


def test_clicks_give_exact_fractions(serve, make_visitor):
    served = serve("rich")
    page = make_visitor(device_scale_factor=3).join(served.link())
    press_keys(page, "z")
    box = page.locator(".canvas").bounding_box()
    stage = page.locator(".stage").bounding_box()
    points = [(int(stage["x"]) + 60 + 91 * n, int(stage["y"]) + 200 + 37 * n) for n in range(4)]
    for x, y in points:
        page.mouse.click(x, y)
    press_keys(page, "1", "2", "3", "4", "Enter")
    wait_for_thanks(page)
    expected = [[(x - box["x"]) / box["width"], (y - box["y"]) / box["height"]] for x, y in points]
    np.testing.assert_allclose(get_values(served)[0]["implausible"], expected, atol=1e-6)


def test_disk_radius_is_a_twentieth_of_the_height(serve, make_visitor):
    page = make_visitor().join(serve("rich").link())
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


def test_undo_and_remove_points_and_words(serve, make_visitor):
    page = make_visitor().join(serve("rich").link())
    canvas, disks = page.locator(".canvas"), page.locator(".canvas .disk")
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    for x in (100, 200, 300):
        canvas.click(position={"x": x, "y": 100})
    page.get_by_role("button", name="cube", exact=True).click()
    assert page.locator(".word[aria-pressed=true]").all_inner_texts() == ["cube"]
    press_keys(page, "Backspace")
    assert page.locator(".word[aria-pressed=true]").count() == 0
    press_keys(page, "Control+z")
    assert disks.count() == 2
    page.get_by_role("button", name="Implausible: remove point 1").click()
    assert disks.count() == 1
    undo.click()
    assert disks.count() == 2
    press_keys(page, "Backspace", "Backspace", "Backspace")
    assert disks.count() == 0 and undo.is_disabled()


def test_inappropriate_image_needs_no_scores(serve, make_visitor):
    served = serve("rich")
    page = make_visitor().join(served.link())
    press_keys(page, "x")
    assert page.get_by_label("Inappropriate image").is_checked()
    press_keys(page, "Enter")
    wait_for_thanks(page)
    [value] = get_values(served)
    assert value["inappropriate"] is True and value["scores"] == {}


def test_draft_survives_closing_the_tab(serve, make_visitor):
    served = serve("rich")
    person = make_visitor()
    page = person.join(served.link())
    page.locator(".canvas").click(position={"x": 100, "y": 100})
    press_keys(page, "3", "2")
    page.close()
    page = person.wait_until_ready(person.open(f"{served.url}/work"))
    assert page.locator(".canvas .disk").count() == 1
    press_keys(page, "5", "5", "Enter")
    wait_for_thanks(page)
    assert get_values(served)[0]["scores"] == {
        "plausibility": 3,
        "alignment": 2,
        "aesthetics": 5,
        "overall": 5,
    }
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('draft'))") == []


def wait_for_overall_score(served, page, score):
    """Wait until the overall score is in the database."""
    for _ in range(300):
        if [value["scores"]["overall"] for value in get_values(served)] == [score]:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{get_values(served)} holds no overall score of {score}")


def test_sent_draft_does_not_hide_a_later_answer(serve, make_visitor):
    """An answer sent offline is changed on another device later."""
    served = serve("rich")
    link, person = served.link(), make_visitor()
    page = person.join(link)
    assignment = page.evaluate("history.state.assignment")
    page.route("**/api/answers", lambda route: route.abort())
    press_keys(page, "1", "1", "1", "1", "Enter")
    page.wait_for_selector("#saved[data-state='offline']")
    page.close()
    page = person.open(f"{served.url}/work")
    wait_for_overall_score(served, page, 1)
    other_device = make_visitor()
    page = other_device.open(link)
    page.locator("main form button.primary").click()
    wait_for_thanks(page)
    page = other_device.wait_until_ready(other_device.open(f"{served.url}/work/{assignment}"))
    page.get_by_role("group", name="Overall").get_by_role("radio", name="5").check()
    press_keys(page, "Enter")
    wait_for_overall_score(served, page, 5)
    page = person.wait_until_ready(person.open(f"{served.url}/work/{assignment}"))
    assert page.locator("[name=score-overall]:checked").get_attribute("value") == "5"


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.daily)])
def test_points_can_be_set_in_every_corner(serve, make_visitor, width):
    page = make_visitor(viewport={"width": width, "height": 800}).join(serve("rich").link())
    box = page.locator(".canvas").bounding_box()
    for number, (x, y) in enumerate(((3, 3), (-3, 3), (3, -3), (-3, -3)), 1):
        position = {"x": x % box["width"], "y": y % box["height"]}
        page.locator(".canvas").click(position=position)
        assert page.locator(".points li").count() == number


def test_flag_is_hidden_if_not_offered(serve, make_visitor):
    page = make_visitor().join(serve("rich", task={"inappropriate": False}).link())
    assert not page.get_by_label("Inappropriate image").is_visible()
    press_keys(page, "x")
    assert page.locator(".primary[aria-disabled=true]").count() == 1
