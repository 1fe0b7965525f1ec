"""The owner's pages in a browser: in every look, by keyboard, and up to date by themselves."""

import pytest
from support.browser import in_every_look, picture, violations
from support.served import serving
from support.studies import answer, small_study

from pqpp_annotation.demo import Persona, simulate_answers
from pqpp_annotation.store.people import add_person, decide_on_person
from pqpp_annotation.store.work import reserve_item

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`").expect


@pytest.fixture
def served(tmp_path):
    """A study that people made up have half done, served."""
    title = "Which images show what the prompt says?"
    more = {"payment": {"per_item": 0.5}, "completion": {"code": "personal"}}
    study = small_study(tmp_path, prompts=8, controls=4, title=title, **more)
    with serving(study) as served:
        people = [Persona("anna", noise=0.1), Persona("boris", noise=0.3)]
        people.append(Persona("random", "random"))
        simulate_answers(served.store, [Persona("member", role="control")])
        simulate_answers(served.store, people, items=6)
        yield served


def come(served, visitor, **how):
    """Follow a link as an owner."""
    person = visitor(**how)
    page = person.open(served.link("owner"))
    page.locator("main form button.primary").click()
    page.wait_for_url(f"{served.url}/owner")
    return page


@pytest.mark.daily
def test_no_owner_s_page_is_a_barrier(served, visitor):
    page, found = come(served, visitor), []
    for path in ("", "/people", "/items", "/items/1"):
        page.goto(f"{served.url}/owner{path}")
        for how in in_every_look(page):
            found += [f"{path}, {how}: {one}" for one in violations(page)]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{path}, {how}: wider than the window")
            if not path:
                picture(page, f"owner-{how.replace(' px, ', '-')}.png")
    assert not found, "\n".join(found)


def passes(page, comes):
    """Let time pass until something comes."""
    for _ in range(300):
        page.clock.fast_forward("00:11")
        page.wait_for_timeout(100)
        if comes():
            return
    raise AssertionError("nothing has come")


def test_the_overview_is_up_to_date_by_itself(served, visitor):
    page = come(served, visitor)
    page.clock.install()
    page.reload()
    before = page.get_attribute("progress", "value")
    page.evaluate("document.querySelector('#people .scroll').focus()")
    person = add_person(served.store, "late", "annotator").id
    answer(served.store, person, reserve_item(served.store, person))
    decide_on_person(served.store, person, "accept")  # no vote is used before a control item
    passes(page, lambda: page.get_attribute("progress", "value") != before)
    # What has the focus stays, and comes when it is left.
    assert page.evaluate("document.activeElement.closest('#people') !== null")
    assert "late" not in page.inner_text("#people")
    page.evaluate("document.activeElement.blur()")
    passes(page, lambda: "late" in page.inner_text("#people"))
    expect(page.locator("[data-updated]")).to_contain_text("Updated")
