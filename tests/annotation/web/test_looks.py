"""Accessibility and width of all annotators' pages, narrow and wide, light and dark."""

import pytest
from support.browser import iterate_modes, run_axe
from support.served import serve_study
from support.studies import answer_all, write_study

from pqpp_annotation.store.people import get_people

pytestmark = pytest.mark.browser


@pytest.fixture
def check():
    """A function that checks a page in every look; the fixture reports all problems at its end."""
    problems = []

    def check_page(page, name):
        for look in iterate_modes(page):
            problems.extend(f"{name}, {look}: {violation}" for violation in run_axe(page))
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                problems.append(f"{name}, {look}: wider than the window")

    yield check_page
    assert not problems, "\n".join(problems)


@pytest.fixture
def served(tmp_path):
    """A served study with training, consent and completion."""
    study = write_study(
        tmp_path,
        prompts=2,
        training=2,
        title="Does the image show what the prompt says?",
        instructions="Look at the image.\n\nThen choose.",
        consent="We keep what you say.",
        completion={"code": "C0DE", "url": "https://example.org/"},
    )
    with serve_study(study) as served:
        yield served


def test_join_pages_have_no_accessibility_violations(served, make_visitor, check):
    person = make_visitor()
    page = person.open(served.link())
    check(page, "join")
    page.goto(f"{served.url}/sign-in")
    check(page, "sign-in")


@pytest.mark.daily
def test_work_pages_have_no_accessibility_violations(served, make_visitor, check):
    person = make_visitor()
    page = person.join(served.link())
    check(page, "practice")
    for key in ("1", "4", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#feedback:not([hidden])")
    check(page, "feedback")
    [annotator] = get_people(served.store)
    answer_all(served.store, annotator.id, limit=1)
    page.goto(f"{served.url}/work")
    person.wait_until_ready(page)
    check(page, "work")
    page.click("#help-button")
    check(page, "help")
    page.keyboard.press("Escape")
    person.context.set_offline(True)
    page.keyboard.press("2")
    page.wait_for_selector("#saved[data-state='offline']")
    check(page, "offline")


@pytest.mark.daily
def test_other_pages_have_no_accessibility_violations(served, make_visitor, check):
    page = make_visitor().join(served.link())
    for path in ("thanks", "withdraw", "consent"):
        page.goto(f"{served.url}/{path}")
        check(page, path)
    page.click(".menu summary")
    check(page, "menu")
    [annotator] = get_people(served.store)
    answer_all(served.store, annotator.id)
    for path, final_path in (("history", "history"), ("work", "thanks")):
        page.goto(f"{served.url}/{path}")
        page.wait_for_url(f"**/{final_path}")
        check(page, path)
    assert "C0DE" in page.inner_text("main")
    for path in ("join/unknown", "nothing-here", "farewell"):
        page.goto(f"{served.url}/{path}")
        check(page, path)
