"""Rating in a browser: keys, lost connections, tabs, reloads, training and signing in again."""

import pytest
from support.browser import wait_until_saved
from support.served import serve_study
from support.studies import write_study

from pqpp_annotation.store.answers import count_answers, iterate_votes, read_records
from pqpp_annotation.store.people import decide_on_person, get_people
from pqpp_annotation.store.work import get_progress

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`").expect


@pytest.fixture
def serve(tmp_path):
    """A function that makes a study, and serves it until the end of the test."""
    import contextlib

    with contextlib.ExitStack() as ends:
        yield lambda **settings: ends.enter_context(serve_study(write_study(tmp_path, **settings)))


def read_labels(served, purpose=None):
    """Return the current labels, oldest first."""
    votes = sorted(iterate_votes(read_records(served.store)), key=lambda vote: vote.created)
    return [vote.value["label"] for vote in votes if purpose in (None, vote.purpose)]


def get_assignment(page):
    """Return the id of the displayed assignment."""
    return page.evaluate("history.state.assignment")


# Presses the second key and Next as soon as the first answer is saved.
PRESS_WHEN_SAVED = """([first, second]) => {
  const press = key => document.dispatchEvent(new KeyboardEvent("keydown", {key}));
  const [saved, next] = ["#saved", "#next"].map(one => document.querySelector(one));
  const watch = new MutationObserver(() => {
    if (saved.dataset.state !== "saved") return;
    watch.disconnect(); press(second); next.click();
  });
  watch.observe(saved, {attributes: true}); press(first);
}"""


def rate_item(page, *keys):
    """Press keys, then Enter, and wait for the next item or the last page."""
    before = get_assignment(page)
    for key in keys:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function(
        """before => location.pathname === "/thanks" || (history.state?.assignment !== before
        && document.querySelector("#task")?.dataset.assignment == history.state?.assignment)""",
        arg=before,
    )


def test_whole_study_by_keyboard(serve, make_visitor):
    served = serve(prompts=2)
    page = make_visitor().open(served.link())
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('button.primary')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#count")).to_have_text("0 of 2")
    rate_item(page, "1", "2")
    expect(page.locator("#count")).to_have_text("1 of 2")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("High relevance")
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("4")
    rate_item(page, "ArrowRight", "1")
    page.wait_for_url("**/thanks")
    expect(page.locator("main")).to_contain_text("You have rated 2 items")
    assert sorted(read_labels(served)) == [-1, 1, 2, 2]


def test_saved_is_shown_after_the_response(serve, make_visitor):
    served = serve(prompts=1)
    page = make_visitor().join(served.link())
    routes = []
    page.route("**/api/answers", lambda route: routes.append(route))
    page.keyboard.press("1")
    page.wait_for_selector("#saved[data-state='sending'][data-waiting='1']")
    expect(page.locator("#saved")).to_have_text("Saving …")
    assert count_answers(served.store) == 0
    while not routes:  # the page shows "Saving" before the request arrives
        page.wait_for_timeout(10)
    routes[0].continue_()
    wait_until_saved(page)
    expect(page.locator("#saved")).to_have_text("Saved")
    assert count_answers(served.store) == 1


def test_offline_answers_are_sent_in_order_later(serve, make_visitor):
    served = serve(prompts=6, people_per_item=1)
    person = make_visitor()
    page = person.join(served.link())
    page.wait_for_selector("#task[data-ahead='1']")  # the next item and its images are loaded
    person.context.set_offline(True)
    rate_item(page, "1", "2")
    assert page.locator(".stage img").evaluate("image => image.complete && image.naturalWidth > 0")
    page.keyboard.press("3")
    page.keyboard.press("4")
    page.wait_for_selector("#saved[data-state='offline'][data-waiting='4']")
    expect(page.locator("#saved")).to_contain_text("Waiting for connection: 4")
    assert count_answers(served.store) == 0
    person.context.set_offline(False)
    wait_until_saved(page)
    assert read_labels(served) == [2, 1, 0, -1]
    expect(page.locator("#banner")).to_be_hidden()


def test_unsent_answers_survive_closing_the_tab(serve, make_visitor):
    served = serve(prompts=6)
    person = make_visitor()
    page = person.join(served.link())
    person.context.set_offline(True)
    page.keyboard.press("1")
    page.wait_for_selector("#saved[data-state='offline'][data-waiting='1']")
    page.close()
    person.context.set_offline(False)
    page = person.wait_until_ready(person.open(f"{served.url}/work"))
    wait_until_saved(page)
    assert read_labels(served) == [2]
    expect(page.locator(".thumb .mark")).to_have_text(["1", ""])


def test_full_disk_is_reported_and_the_answer_sent_again(serve, make_visitor, monkeypatch):
    served = serve(prompts=1)
    page = make_visitor().join(served.link())

    def raise_full_disk(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pqpp_annotation.web.work.save_answer", raise_full_disk)
        page.keyboard.press("1")
        page.wait_for_selector("#saved[data-state='offline'][data-waiting='1']")
        expect(page.locator("#banner")).to_contain_text("cannot save right now: the disk is full")
    wait_until_saved(page)
    assert read_labels(served) == [2]


def test_answer_with_lost_response_is_saved_once(serve, make_visitor):
    served = serve(prompts=1)
    page = make_visitor().join(served.link())
    responses = []

    def lose_first_response(route):
        if not responses:
            responses.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    page.route("**/api/answers", lose_first_response)
    page.keyboard.press("1")
    wait_until_saved(page)
    assert responses[0].ok and count_answers(served.store) == 1


def test_two_tabs_stay_in_sync(serve, make_visitor):
    served = serve(prompts=3)
    person = make_visitor()
    first = person.join(served.link())
    second = person.wait_until_ready(person.open(f"{served.url}/work"))
    assert get_assignment(first) == get_assignment(second)
    first.keyboard.press("1")
    wait_until_saved(first)
    second.wait_for_function("() => document.querySelector('.thumb .mark').textContent === '1'")
    expect(second.locator("#banner")).to_contain_text("in another tab")
    second.bring_to_front()
    second.keyboard.press("2")
    wait_until_saved(second)
    assert sorted(read_labels(served)) == [1, 2]
    person.context.set_offline(True)
    for page in (first, second):
        page.bring_to_front()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("4")
    person.context.set_offline(False)
    wait_until_saved(first)
    wait_until_saved(second)
    assert count_answers(served.store) == 4


def test_back_button_reopens_the_previous_item(serve, make_visitor):
    served = serve(prompts=3)
    page = make_visitor().join(served.link())
    first = get_assignment(page)
    rate_item(page, "1", "1")
    wait_until_saved(page)
    second = get_assignment(page)
    page.go_back()
    page.wait_for_url(f"**/work/{first}")
    expect(page.locator(".thumb .mark")).to_have_text(["1", "1"])
    page.locator(".thumb").nth(0).click()
    page.keyboard.press("3")
    wait_until_saved(page)
    assert sorted(read_labels(served)) == [0, 2]
    assert count_answers(served.store) == 3
    rate_item(page)
    assert get_assignment(page) == second
    page.keyboard.press("b")
    page.wait_for_url(f"**/work/{first}")


def test_skipped_item_can_be_rated_later(serve, make_visitor):
    served = serve(prompts=2)
    page = make_visitor().join(served.link())
    first = get_assignment(page)
    page.keyboard.press("s")
    page.wait_for_function("before => history.state.assignment !== before", arg=first)
    wait_until_saved(page)
    [person] = get_people(served.store)
    assert get_progress(served.store, person.id).skipped == 1
    page.keyboard.press("h")
    page.wait_for_url("**/history")
    expect(page.locator(".earlier")).to_contain_text("skipped")
    page.locator(".earlier a").last.click()
    page.wait_for_selector("html[data-ready]")
    assert get_assignment(page) == first
    rate_item(page, "1", "1")
    wait_until_saved(page)
    assert get_progress(served.store, person.id).skipped == 0


def test_practice_gives_feedback_and_a_second_try(serve, make_visitor):
    served = serve(prompts=1, training=4)
    page = make_visitor().join(served.link())
    expect(page.locator("#count")).to_have_text("Practice 1 of 2")
    first = page.inner_text("[data-part=prompt]")
    page.keyboard.press("s")
    expect(page.locator("#skip-button")).to_be_hidden()

    def answer_practice_item(*keys):
        page.evaluate(PRESS_WHEN_SAVED, keys)
        page.wait_for_selector("#feedback:not([hidden])")
        text = page.inner_text("#feedback-text")
        page.keyboard.press("Enter")
        page.wait_for_selector("#feedback[hidden]", state="attached")
        return text

    assert answer_practice_item("1", "1") == "Correct."
    text = answer_practice_item("4", "1")
    assert "Not quite" in text and "1 of 2 correct" in text and "starts again" in text
    expect(page.locator("#count")).to_have_text("Practice 1 of 2")
    expect(page.locator("[data-part=prompt]")).not_to_have_text(first)
    answer_practice_item("1", "1")
    assert "count from now on" in answer_practice_item("1", "1")
    expect(page.locator("#count")).to_have_text("0 of 1")
    rate_item(page, "2", "2")
    assert read_labels(served, purpose="work") == [1, 1]


def test_unsent_answers_are_sent_after_signing_in_again(serve, make_visitor):
    served = serve(prompts=2)
    link = served.link()
    person = make_visitor()
    page = person.join(link)
    [annotator] = get_people(served.store)
    decide_on_person(served.store, annotator.id, "sign-out")
    page.keyboard.press("1")
    page.wait_for_selector("#saved[data-state='signed-out']")
    expect(page.locator("#banner")).to_contain_text("Open your link again")
    assert count_answers(served.store) == 0
    new_page = person.join(link)
    wait_until_saved(new_page)
    assert read_labels(served) == [2]
