"""Pages of all kinds: accessibility, long and right-to-left prompts, narrow and wide windows."""

import pytest
from support.browser import WIDE, iterate_modes, run_axe, save_screenshot
from support.kind_pages import IMAGES

pytestmark = [pytest.mark.browser, pytest.mark.daily]
ARABIC_PROMPT = 'قطة حمراء صغيرة تجلس على "طاولة" خشبية، والشمس تشرق.'
LONG_PROMPT = ("A very long prompt with a great many words in it, " * 100)[:5000]
ANSWER_KEYS = {"rating": "4", "match": "yl", "binary": "1", "preference": "2", "rich": "pm3"}
ANSWER_KEYS["order"] = "312"


@pytest.mark.parametrize("kind", IMAGES)
def test_pages_have_no_accessibility_violations(serve, make_visitor, kind):
    page = make_visitor().join(serve(kind, prompts=["a cube and a cat", "a cat"]).link())
    for state in ("fresh", "rated"):
        for look in iterate_modes(page):
            assert run_axe(page) == [], (state, look)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), look
            save_screenshot(page, f"{kind}-{state}-{look.replace(', ', '-').replace(' ', '')}.png")
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for key in ANSWER_KEYS.get(kind, "12"):
            page.keyboard.press(key)
        if kind == "rich":
            page.keyboard.press("Enter")


FIND_UNREACHABLE = """() => {
  const task = document.querySelector("#task"), problems = [];
  const controls = [...document.querySelectorAll("button, a, input, summary, select")];
  for (const node of controls.filter(x => x.checkVisibility() && !x.matches(".skip-link"))) {
    const {width, height} = node.getBoundingClientRect();
    const least = node.matches(".primary, .choice") ? 44 : 24, name = node.outerHTML.slice(0, 90);
    if (width < least || height < least) problems.push(`${name}: ${width} x ${height}`);
    node.scrollIntoView({block: "nearest"});
    const box = node.getBoundingClientRect();
    const top = document.elementFromPoint(box.left + width / 2, box.bottom - 2);
    if (!node.contains(top) && !node.parentNode.contains(top)) problems.push(`${name}: covered`);
  }
  const panels = [document.documentElement, task, document.querySelector(".panel")];
  const isLong = panels.some(node => node.scrollHeight > node.clientHeight && node.clientHeight);
  return {problems, isLong, name: document.querySelector(".bar .name").innerText};
}"""


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, WIDE])
def test_controls_are_large_and_uncovered(serve, make_visitor, kind, size):
    """Only the kind `rich` scrolls, in a narrow window."""
    served = serve(kind, prompts=["I see a red cube, and 1 cat on a table, in the sun."])
    page = make_visitor(viewport=size).join(served.link())
    result = page.evaluate(FIND_UNREACHABLE)
    assert result["problems"] == [] and result["name"].strip() != served.study.name
    assert result["isLong"] == (kind == "rich" and size != WIDE)


@pytest.mark.parametrize("kind", IMAGES)
def test_arabic_prompts_are_right_to_left(serve, make_visitor, kind):
    page = make_visitor().join(serve(kind, prompts=[ARABIC_PROMPT]).link())
    prompt = page.locator(".prompt")
    assert prompt.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert prompt.inner_text().replace("\n", "") == ARABIC_PROMPT
    question = page.locator(".question").first
    assert question.evaluate("one => getComputedStyle(one).direction") == "ltr"


def test_arrow_keys_follow_the_text_direction(serve, make_visitor):
    page = make_visitor().join(serve("rich", prompts=[ARABIC_PROMPT]).link())
    for key in ("w", "ArrowLeft", "Space"):
        page.keyboard.press(key)
    assert page.locator(".word[aria-pressed=true]").inner_text() == ARABIC_PROMPT.split()[1]


@pytest.mark.parametrize("kind", IMAGES)
def test_long_prompts_scroll_and_leave_room_for_the_image(serve, make_visitor, kind):
    page = make_visitor().join(serve(kind, prompts=[LONG_PROMPT]).link())
    prompt = page.locator(".prompt")
    for look in iterate_modes(page):
        assert prompt.evaluate("one => one.scrollHeight > one.clientHeight"), look
        assert prompt.bounding_box()["height"] < 0.45 * page.viewport_size["height"], look
        stage = page.locator(".stage, .pick img").first.bounding_box()
        is_full_width = stage["width"] > 0.9 * page.viewport_size["width"]  # as wide as the window
        min_height = 120 if kind == "order" else 200  # several rows of images are seen at once
        assert stage["height"] > min_height or is_full_width, look
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), look
        assert run_axe(page) == [], look
    prompt.focus() if kind != "rich" else page.locator(".word").first.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('.prompt').scrollTop > 0")


def test_screen_readers_announce_the_current_image(serve, make_visitor):
    page = make_visitor().join(serve("relevance").link())
    page.keyboard.press("1")
    condition = "() => document.querySelector('#live').textContent === 'Image 2 of 2'"
    page.wait_for_function(condition)
    page.keyboard.press("2")
    page.wait_for_function(
        "() => document.querySelector('#live').textContent.startsWith('Low relevance. All')"
    )
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => document.querySelector('#live').textContent === 'Image 1 of 2, High relevance'"
    )
