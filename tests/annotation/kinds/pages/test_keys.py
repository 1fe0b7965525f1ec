"""Pages of all kinds, used by keyboard only."""

import pytest
from sqlalchemy import func, select
from support.browser import wait_until_saved
from support.kind_pages import get_values, wait_for_thanks

from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.work import get_item, get_past_items

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`").expect


def press_keys(page, *keys):
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize(
    ("kind", "task", "keys", "expected"),
    [
        ("relevance", {}, "14", [2, -1]),
        ("rating", {"low": 0, "high": 10}, "x", [10]),
        ("match", {}, "1", [1]),
        ("binary", {}, "r2u", [1, 0, None]),
    ],
)
def test_keys_choose_labels(serve, make_visitor, kind, task, keys, expected):
    served = serve(kind, task=task)
    page = make_visitor().join(served.link())
    press_keys(page, *keys, "Enter")
    wait_for_thanks(page)
    assert [value["label"] for value in get_values(served)] == expected


def test_backspace_and_arrows_select_images(serve, make_visitor):
    """Backspace selects the image rated last, arrows select any; answers can be changed."""
    served = serve("binary", images=4)
    page = make_visitor().join(served.link())
    current = page.locator(".thumb[aria-current=true]")
    press_keys(page, "1", "2")
    assert current.get_attribute("aria-label") == "Image 3 of 4, not rated yet"
    press_keys(page, "Backspace")
    assert current.get_attribute("aria-label") == "Image 2 of 4, Not relevant"
    press_keys(page, "3")
    assert current.get_attribute("aria-label") == "Image 2 of 4, Unsure"
    press_keys(page, "ArrowLeft", "ArrowLeft")
    assert current.get_attribute("aria-label") == "Image 4 of 4, not rated yet"
    press_keys(page, "1")
    assert current.get_attribute("aria-label") == "Image 3 of 4, not rated yet"
    press_keys(page, "1", "Enter")
    wait_for_thanks(page)
    assert [value["label"] for value in get_values(served)] == [1, None, 1, 1]


def test_enter_selects_the_next_unrated_image(serve, make_visitor):
    served = serve("binary", images=3)
    page = make_visitor().join(served.link())
    press_keys(page, "1", "ArrowRight", "Enter")
    current = page.locator(".thumb[aria-current=true]")
    assert current.get_attribute("aria-label").startswith("Image 2")
    page.wait_for_function("() => document.querySelector('#live').textContent.includes('2 of 3')")
    assert page.url.endswith("/work")


def test_keys_choose_the_better_image(serve, make_visitor):
    served = serve("preference", prompts=["a cat", "a dog", "a cube"])
    page = make_visitor().join(served.link())
    for number, key in enumerate(("1", "ArrowRight", "3")):
        expect(page.locator("#count")).to_have_text(f"{number} of 3")
        press_keys(page, "Enter", key, "Enter")
    wait_for_thanks(page)
    left, right, tie = get_values(served)
    other = {"a": "b", "b": "a"}
    assert (left["choice"], right["choice"]) == (left["left"], other[right["left"]])
    assert tie["choice"] == "tie"


def test_l_toggles_linked_prompts(serve, make_visitor):
    # The first prompt links to the second, whose image by the same model is shown.
    served = serve("match", prompts=["a cube and a cat", "a cat"])
    page = make_visitor().join(served.link())
    for _ in range(2):
        if page.inner_text(".prompt") == "a cube and a cat":
            break
        press_keys(page, "y", "Enter")
        expect(page.locator("#count")).to_have_text("1 of 2")
    linked = page.locator(".linked")
    assert linked.locator("summary").inner_text().split("\n")[-1].strip() == "Linked prompt"
    assert not linked.locator("img").is_visible()
    press_keys(page, "l")
    assert linked.locator(".linked-prompt").inner_text() == "a cat"
    get_width = "image => image.decode().then(() => image.naturalWidth)"
    assert linked.locator("img").evaluate(get_width) == 768
    press_keys(page, "l")
    assert not linked.locator("img").is_visible()


@pytest.mark.parametrize(
    ("kind", "practice", "wrong_keys", "message"),
    [
        ("relevance", ["2", "unrealistic"], "33", "answer: High relevance"),
        ("preference", ["tie", "tie"], "1", "Correct answer: Neither is better"),
    ],
)
def test_practice_shows_the_right_answer(serve, make_visitor, kind, practice, wrong_keys, message):
    page = make_visitor().join(serve(kind, practice=practice).link())
    assert page.inner_text(".prompt") == "practice"
    press_keys(page, *wrong_keys, "Enter")
    page.wait_for_selector("#feedback:not([hidden])")
    assert message in page.inner_text("[data-part=note]")


def test_disabled_shortcuts_stay_disabled_after_reload(serve, make_visitor):
    served = serve("relevance", images=1)
    person = make_visitor()
    page = person.join(served.link())
    press_keys(page, "?")
    page.uncheck("#keys-on")
    press_keys(page, "Escape", "1")
    page.reload()
    person.wait_until_ready(page)
    press_keys(page, "1")
    assert page.locator(".choice[aria-pressed=true]").count() == 0
    page.get_by_role("button", name="Low relevance").focus()
    press_keys(page, "Space")
    wait_until_saved(page)
    press_keys(page, "Enter")  # on Next, which has the focus now
    wait_for_thanks(page)
    assert get_values(served) == [{"label": 1}]


def test_z_zooms_until_the_next_answer(serve, make_visitor):
    page = make_visitor().join(serve("relevance").link())
    image = page.locator(".stage > img")
    width = image.bounding_box()["width"]
    # On German keyboards, this key has the letter y.
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'y', code: 'KeyZ'}))")
    press_keys(page, "z")
    assert image.bounding_box()["width"] == pytest.approx(2.5 * width, rel=0.02)
    page.locator(".stage").focus()
    scroll_top = page.evaluate("document.querySelector('.stage').scrollTop")
    press_keys(page, "ArrowDown")
    page.wait_for_function("at => document.querySelector('.stage').scrollTop > at", arg=scroll_top)
    press_keys(page, "1")
    assert image.bounding_box()["width"] == pytest.approx(width, abs=1)


def read_ranks(served):
    """Return the rank of each image, in the order of the page's letters."""
    [value] = get_values(served)
    with served.store.begin_read() as db:
        person = db.scalar(select(func.max(Person.id)))
        images = get_item(db, person, get_past_items(db, person)[0].assignment).images
    return [value["places"][str(image.id)] for image in images]


def test_keys_rank_images_with_a_tie(serve, make_visitor):
    served = serve("order", images=4)
    page = make_visitor().join(served.link())
    press_keys(page, "Enter", "3", "1", "2", "4")  # C, A, B, D
    page.locator(".pick >> nth=2").focus()
    press_keys(page, "=")  # B shares the place of A
    page.locator("[data-part=next]").click()
    wait_for_thanks(page)
    assert read_ranks(served) == [2, 2, 1, 3]


def test_buttons_rank_and_move_images(serve, make_visitor):
    served = serve("order")
    page = make_visitor().join(served.link())
    for name in ("A", "B", "C"):
        page.get_by_role("button", name=f"Image {name}, not ranked yet").click()
    page.get_by_role("button", name="Worse: image A").click()  # B, A, C
    page.get_by_role("button", name="Worse: image A").click()  # B, C, A
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Better: image C").click()  # B, C, A
    page.locator("[data-part=next]").click()
    wait_for_thanks(page)
    assert read_ranks(served) == [3, 1, 2]


def test_dragging_ranks_images(serve, make_visitor):
    served = serve("order")
    page = make_visitor().join(served.link())
    press_keys(page, "1", "2", "3")
    page.get_by_role("button", name="Image C: rank 3").drag_to(
        page.get_by_role("button", name="Image A: rank 1")
    )
    assert page.get_by_role("button", name="Image C: rank 1").count() == 1
    page.locator("[data-part=next]").click()
    wait_for_thanks(page)
    assert read_ranks(served) == [2, 3, 1]


def test_unsure_key_is_ignored_if_not_offered(serve, make_visitor):
    page = make_visitor().join(serve("binary", task={"unsure": False}).link())
    assert page.locator(".choice .name").all_inner_texts() == ["Relevant", "Not relevant"]
    press_keys(page, "3")
    assert page.locator(".choice[aria-pressed=true]").count() == 0
