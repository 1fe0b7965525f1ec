"""Judging in a real browser: keys, touch, lost connections, tabs, reloads, training, leaving."""

import pytest
from support.browser import saved
from support.served import serving
from support.studies import small_study

from pqpp_annotation.store.answers import count_answers, iterate_votes
from pqpp_annotation.store.people import decide_on_person, get_people
from pqpp_annotation.store.work import get_progress

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`").expect


@pytest.fixture
def serve(tmp_path):
    """A function that makes a study and serves it until the test ends."""
    import contextlib

    with contextlib.ExitStack() as ends:
        yield lambda **settings: ends.enter_context(serving(small_study(tmp_path, **settings)))


def labels(served, purpose=None):
    """What was said, in the order in which it came."""
    votes = sorted(iterate_votes(served.store), key=lambda vote: vote.created)
    return [vote.value["label"] for vote in votes if purpose in (None, vote.purpose)]


def assignment(page):
    """The item that is shown."""
    return page.evaluate("history.state.assignment")


# The second key and Next in the very moment in which the first answer is saved.
PRESS_AS_SAVED = """([first, second]) => {
  const press = key => document.dispatchEvent(new KeyboardEvent("keydown", {key}));
  const [saved, next] = ["#saved", "#next"].map(one => document.querySelector(one));
  const watch = new MutationObserver(() => {
    if (saved.dataset.state !== "saved") return;
    watch.disconnect(); press(second); next.click();
  });
  watch.observe(saved, {attributes: true}); press(first);
}"""


def judge(page, *keys):
    """Press the keys of choices, then go on to the next item."""
    before = assignment(page)
    for key in keys:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function(
        """before => location.pathname === "/thanks" || (history.state?.assignment !== before
        && document.querySelector("#task")?.dataset.assignment == history.state?.assignment)""",
        arg=before,
    )


def test_keys_alone_are_enough_from_the_link_to_the_end(serve, visitor):
    served = serve(prompts=2)
    page = visitor().open(served.link())
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('button.primary')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#count")).to_have_text("0 of 2")
    judge(page, "1", "2")
    expect(page.locator("#count")).to_have_text("1 of 2")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("High relevance")
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("4")
    judge(page, "ArrowRight", "1")
    page.wait_for_url("**/thanks")
    expect(page.locator("main")).to_contain_text("You have rated 2 items")
    assert sorted(labels(served)) == [-1, 1, 2, 2]


def test_saved_is_shown_only_when_it_is(serve, visitor):
    served = serve(prompts=1)
    page = visitor().join(served.link())
    gate = []
    page.route("**/api/answers", lambda route: gate.append(route))
    page.keyboard.press("1")
    page.wait_for_selector("#saved[data-state='sending'][data-waiting='1']")
    expect(page.locator("#saved")).to_have_text("Saving …")
    assert count_answers(served.store) == 0
    while not gate:  # the page says that it sends before the request is here
        page.wait_for_timeout(10)
    gate[0].continue_()
    saved(page)
    expect(page.locator("#saved")).to_have_text("Saved")
    assert count_answers(served.store) == 1


def test_without_a_connection_work_goes_on_and_leaves_in_order(serve, visitor):
    served = serve(prompts=6, people_per_item=1)
    person = visitor()
    page = person.join(served.link())
    page.wait_for_selector("#task[data-ahead='1']")  # the next item and its images are there
    person.context.set_offline(True)
    judge(page, "1", "2")
    assert page.locator(".stage img").evaluate("image => image.complete && image.naturalWidth > 0")
    page.keyboard.press("3")
    page.keyboard.press("4")
    page.wait_for_selector("#saved[data-state='offline'][data-waiting='4']")
    expect(page.locator("#saved")).to_contain_text("Waiting for connection: 4")
    assert count_answers(served.store) == 0
    person.context.set_offline(False)
    saved(page)
    assert labels(served) == [2, 1, 0, -1]
    expect(page.locator("#banner")).to_be_hidden()


def test_what_waits_outlives_the_tab(serve, visitor):
    served = serve(prompts=6)
    person = visitor()
    page = person.join(served.link())
    person.context.set_offline(True)
    page.keyboard.press("1")
    page.wait_for_selector("#saved[data-state='offline'][data-waiting='1']")
    page.close()
    person.context.set_offline(False)
    page = person.ready(person.open(f"{served.url}/work"))
    saved(page)
    assert labels(served) == [2]
    expect(page.locator(".thumb .mark")).to_have_text(["1", ""])


def test_a_full_disk_is_said_and_loses_nothing(serve, visitor, monkeypatch):
    served = serve(prompts=1)
    page = visitor().join(served.link())

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pqpp_annotation.web.work.save_answer", full)
        page.keyboard.press("1")
        page.wait_for_selector("#saved[data-state='offline'][data-waiting='1']")
        expect(page.locator("#banner")).to_contain_text("cannot save right now: the disk is full")
    saved(page)
    assert labels(served) == [2]


def test_a_vote_whose_answer_was_lost_counts_once(serve, visitor):
    served = serve(prompts=1)
    page = visitor().join(served.link())
    lost = []

    def lose(route):
        if not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    page.route("**/api/answers", lose)
    page.keyboard.press("1")
    saved(page)
    assert lost[0].ok and count_answers(served.store) == 1


def test_two_tabs_agree(serve, visitor):
    served = serve(prompts=3)
    person = visitor()
    one = person.join(served.link())
    two = person.ready(person.open(f"{served.url}/work"))
    assert assignment(one) == assignment(two)
    one.keyboard.press("1")
    saved(one)
    two.wait_for_function("() => document.querySelector('.thumb .mark').textContent === '1'")
    expect(two.locator("#banner")).to_contain_text("in another tab")
    two.bring_to_front()
    two.keyboard.press("2")
    saved(two)
    assert sorted(labels(served)) == [1, 2]
    person.context.set_offline(True)
    for page in (one, two):
        page.bring_to_front()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("4")
    person.context.set_offline(False)
    saved(one)
    saved(two)
    assert count_answers(served.store) == 4


def test_the_back_button_shows_the_item_before_to_be_changed(serve, visitor):
    served = serve(prompts=3)
    page = visitor().join(served.link())
    first = assignment(page)
    judge(page, "1", "1")
    saved(page)
    second = assignment(page)
    page.go_back()
    page.wait_for_url(f"**/work/{first}")
    expect(page.locator(".thumb .mark")).to_have_text(["1", "1"])
    page.locator(".thumb").nth(0).click()
    page.keyboard.press("3")
    saved(page)
    assert sorted(labels(served)) == [0, 2]
    assert count_answers(served.store) == 3
    judge(page)
    assert assignment(page) == second
    page.keyboard.press("b")
    page.wait_for_url(f"**/work/{first}")


def test_an_item_is_skipped_and_another_comes(serve, visitor):
    served = serve(prompts=2)
    page = visitor().join(served.link())
    first = assignment(page)
    page.keyboard.press("s")
    page.wait_for_function("before => history.state.assignment !== before", arg=first)
    saved(page)
    [person] = get_people(served.store)
    assert get_progress(served.store, person.id).skipped == 1
    page.keyboard.press("h")
    page.wait_for_url("**/history")
    expect(page.locator(".earlier")).to_contain_text("skipped")
    page.locator(".earlier a").last.click()
    page.wait_for_selector("html[data-ready]")
    assert assignment(page) == first
    judge(page, "1", "1")
    saved(page)
    assert get_progress(served.store, person.id).skipped == 0


def test_practice_says_what_was_meant_and_comes_once_more(serve, visitor):
    served = serve(prompts=1, training=4)
    page = visitor().join(served.link())
    expect(page.locator("#count")).to_have_text("Practice 1 of 2")
    first = page.inner_text("[data-part=prompt]")

    def practise(*keys):
        page.evaluate(PRESS_AS_SAVED, keys)
        page.wait_for_selector("#feedback:not([hidden])")
        text = page.inner_text("#feedback-text")
        page.keyboard.press("Enter")
        page.wait_for_selector("#feedback[hidden]", state="attached")
        return text

    assert practise("1", "1") == "Correct."
    text = practise("4", "1")
    assert "Not quite" in text and "1 of 2 correct" in text and "starts again" in text
    expect(page.locator("#count")).to_have_text("Practice 1 of 2")
    expect(page.locator("[data-part=prompt]")).not_to_have_text(first)
    practise("1", "1")
    assert "count from now on" in practise("1", "1")
    expect(page.locator("#count")).to_have_text("0 of 1")
    judge(page, "2", "2")
    assert labels(served, purpose="work") == [1, 1]


def test_after_signing_in_again_what_waits_is_sent(serve, visitor):
    served = serve(prompts=2)
    link = served.link()
    person = visitor()
    page = person.join(link)
    [one] = get_people(served.store)
    decide_on_person(served.store, one.id, "sign-out")
    page.keyboard.press("1")
    page.wait_for_selector("#saved[data-state='signed-out']")
    expect(page.locator("#banner")).to_contain_text("Open your link again")
    assert count_answers(served.store) == 0
    again = person.join(link)
    saved(again)
    assert labels(served) == [2]
