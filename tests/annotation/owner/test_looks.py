"""The owner's pages in a browser: accessibility and automatic updates."""

import pytest
from support.browser import iterate_modes, run_axe, save_screenshot
from support.served import serve_study
from support.studies import answer_item, write_study

from pqpp_annotation.demo import Persona, simulate_answers
from pqpp_annotation.store.people import add_person, decide_on_person
from pqpp_annotation.store.work import reserve_item

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`").expect


@pytest.fixture
def served(tmp_path):
    """A served study that simulated people have partly rated."""
    title = "Which images show what the prompt says?"
    more = {"payment": {"per_item": 0.5}, "completion": {"code": "personal"}}
    study = write_study(tmp_path, prompts=8, controls=4, title=title, **more)
    with serve_study(study) as served:
        people = [Persona("anna", noise=0.1), Persona("boris", noise=0.3)]
        people.append(Persona("random", "random"))
        simulate_answers(served.store, [Persona("member", role="control")])
        simulate_answers(served.store, people, items=6)
        yield served


def open_as_owner(served, make_visitor, **options):
    """Sign in as the owner, and return the page."""
    person = make_visitor(**options)
    page = person.open(served.link("owner"))
    page.locator("main form button.primary").click()
    page.wait_for_url(f"{served.url}/owner")
    return page


@pytest.mark.daily
def test_owner_pages_have_no_accessibility_violations(served, make_visitor):
    page, problems = open_as_owner(served, make_visitor), []
    for path in ("", "/people", "/items", "/items/1"):
        page.goto(f"{served.url}/owner{path}")
        for look in iterate_modes(page):
            problems += [f"{path}, {look}: {violation}" for violation in run_axe(page)]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                problems.append(f"{path}, {look}: wider than the window")
            if not path:
                save_screenshot(page, f"owner-{look.replace(' px, ', '-')}.png")
    assert not problems, "\n".join(problems)


def advance_clock_until(page, condition):
    """Advance the page's clock until a condition holds."""
    for _ in range(300):
        page.clock.fast_forward("00:11")
        page.wait_for_timeout(100)
        if condition():
            return
    raise AssertionError("the page was not updated")


def test_overview_updates_itself_but_not_a_focused_table(served, make_visitor):
    page = open_as_owner(served, make_visitor)
    page.clock.install()
    page.reload()
    old_progress = page.get_attribute("progress", "value")
    page.evaluate("document.querySelector('#people .scroll').focus()")
    person = add_person(served.store, "late", "annotator").id
    answer_item(served.store, person, reserve_item(served.store, person))
    decide_on_person(served.store, person, "accept")  # no vote is used before a control item
    advance_clock_until(page, lambda: page.get_attribute("progress", "value") != old_progress)
    # A table with the focus is updated when it loses the focus.
    assert page.evaluate("document.activeElement.closest('#people') !== null")
    assert "late" not in page.inner_text("#people")
    page.evaluate("document.activeElement.blur()")
    advance_clock_until(page, lambda: "late" in page.inner_text("#people"))
    expect(page.locator("[data-updated]")).to_contain_text("Updated")
