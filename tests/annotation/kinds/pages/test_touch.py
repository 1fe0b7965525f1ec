"""Pages of all kinds on a phone: touch, a narrow screen and high pixel density."""

import pytest
from support.browser import NARROW
from support.kind_pages import PROMPT, get_values, wait_for_thanks

pytestmark = pytest.mark.browser
PHONE = {"viewport": NARROW, "has_touch": True, "is_mobile": True, "device_scale_factor": 3}


@pytest.fixture
def phone(make_visitor):
    """A function that opens a link on a phone."""
    return lambda link: make_visitor(**PHONE).join(link)


def tap_buttons(page, *names):
    for name in names:
        page.get_by_role("button", name=name, exact=True).tap()


@pytest.mark.parametrize(
    ("kind", "names", "expected"),
    [
        ("relevance", ["High relevance", "Unrealistic"], [2, -1]),
        ("binary", ["Relevant", "Unsure", "Not relevant"], [1, None, 0]),
    ],
)
def test_taps_choose_labels(serve, phone, kind, names, expected):
    served = serve(kind)
    page = phone(served.link())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.locator(".choice kbd").first.is_visible()
    tap_buttons(page, *names, "Next")
    wait_for_thanks(page)
    assert [value["label"] for value in get_values(served)] == expected


def test_taps_choose_the_better_image(serve, phone):
    served = serve("preference")
    page = phone(served.link())
    first, second = (page.locator(".pair .stage").nth(n).bounding_box() for n in (0, 1))
    assert second["y"] > first["y"] + first["height"] - 1 and first["width"] > 300
    tap_buttons(page, "B is better", "Next")
    wait_for_thanks(page)
    [value] = get_values(served)
    assert value["choice"] != value["left"]


def test_taps_set_points_words_and_scores(serve, phone):
    served = serve("rich")
    page = phone(served.link())
    box = page.locator(".canvas").bounding_box()
    left, top = int(box["x"]), int(box["y"])
    points = [(left + 40, top + 30), (left + 200, top + 99)]
    for x, y in points:
        page.touchscreen.tap(x, y)
    tap_buttons(page, "red")
    for name in ("Plausibility", "Alignment", "Aesthetics", "Overall"):
        page.get_by_role("group", name=name).get_by_role("radio", name="4").tap()
    tap_buttons(page, "Next")
    wait_for_thanks(page)
    [value] = get_values(served)
    for (x, y), (across, down) in zip(points, value["implausible"], strict=True):
        assert across == pytest.approx((x - box["x"]) / box["width"], abs=1e-6)
        assert down == pytest.approx((y - box["y"]) / box["height"], abs=1e-6)
    assert value["words"] == [PROMPT.split().index("red")] and set(value["scores"].values()) == {4}


def test_thumbnail_selects_its_image(serve, phone):
    served = serve("binary", images=4)
    page = phone(served.link())
    page.locator(".thumb").nth(3).tap()
    tap_buttons(page, "Relevant", *["Not relevant"] * 3, "Next")
    wait_for_thanks(page)
    assert [value["label"] for value in get_values(served)] == [1, 0, 0, 0]
