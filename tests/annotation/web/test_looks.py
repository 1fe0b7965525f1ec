"""Every page in both widths, light and dark: nothing that axe finds, nothing that sticks out."""

import pytest
from support.browser import in_every_look, violations
from support.served import serving
from support.studies import do_all, small_study

from pqpp_annotation.store.people import get_people

pytestmark = pytest.mark.browser


@pytest.fixture
def check():
    """A function that looks at a page in every look; all that was found is told at the end."""
    found = []

    def look(page, name):
        for how in in_every_look(page):
            found.extend(f"{name}, {how}: {one}" for one in violations(page))
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{name}, {how}: wider than the window")

    yield look
    assert not found, "\n".join(found)


@pytest.fixture
def served(tmp_path):
    """A study with all that a page can show."""
    study = small_study(
        tmp_path,
        prompts=2,
        training=2,
        title="Does the image show what the prompt says?",
        instructions="Look at the image.\n\nThen choose.",
        consent="We keep what you say.",
        completion={"code": "C0DE", "url": "https://example.org/"},
    )
    with serving(study) as served:
        yield served


def test_coming_is_no_barrier(served, visitor, check):
    person = visitor()
    page = person.open(served.link())
    check(page, "join")
    page.goto(f"{served.url}/sign-in")
    check(page, "sign-in")


@pytest.mark.daily
def test_judging_is_no_barrier(served, visitor, check):
    person = visitor()
    page = person.join(served.link())
    check(page, "practice")
    for key in ("1", "4", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#feedback:not([hidden])")
    check(page, "feedback")
    [one] = get_people(served.store)
    do_all(served.store, one.id, most=1)
    page.goto(f"{served.url}/work")
    person.ready(page)
    check(page, "work")
    page.click("#help-button")
    check(page, "help")
    page.keyboard.press("Escape")
    person.context.set_offline(True)
    page.keyboard.press("2")
    page.wait_for_selector("#saved[data-state='offline']")
    check(page, "offline")


@pytest.mark.daily
def test_looking_back_and_leaving_is_no_barrier(served, visitor, check):
    page = visitor().join(served.link())
    for path in ("thanks", "withdraw", "consent"):
        page.goto(f"{served.url}/{path}")
        check(page, path)
    page.click(".menu summary")
    check(page, "menu")
    [one] = get_people(served.store)
    do_all(served.store, one.id)
    for path, last in (("history", "history"), ("work", "thanks")):
        page.goto(f"{served.url}/{path}")
        page.wait_for_url(f"**/{last}")
        check(page, path)
    assert "C0DE" in page.inner_text("main")
    for path in ("join/unknown", "nothing-here", "farewell"):
        page.goto(f"{served.url}/{path}")
        check(page, path)
