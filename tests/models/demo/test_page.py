"""The demo page in a browser: keyboard, links, files, accessibility and privacy."""

import contextlib
import re
import socket
from urllib.parse import quote_plus

import httpx
import pytest
from support.browser import save_screenshot
from support.served_page import find_barriers, serve_page, wait_for_scheme

from pqpp_models import Predictor
from pqpp_models.demo.page import build_predictor_space

pytestmark = pytest.mark.browser
SECRET = "a walrus juggles seventeen teapots"
PROMPTS = ("a man riding a wave on a surfboard", "two men in suits juggle seven oranges")


def make_link(url, *prompts, more=""):
    return f"{url}/#" + "&".join(f"prompt={quote_plus(one)}" for one in prompts) + more


def wait_for_cards(page, count=1):
    page.wait_for_function(f"document.querySelectorAll('#answer .card').length == {count}")
    return page.locator("#answer .card")


def read_predictions(card):
    """Return the predictions of a card by target."""
    card.get_by_text("All targets").click()
    rows = card.locator("table").first.locator("tbody tr:not(.group)")
    names = rows.locator("th small").all_inner_texts()
    values = rows.locator("td b").all_inner_texts()
    return {name.strip(): float(value) for name, value in zip(names, values, strict=True)}


def test_predicts_with_keyboard_only(demo, make_visitor):
    page = make_visitor().open(demo.url)
    page.wait_for_selector("#box textarea")
    page.wait_for_load_state("networkidle")  # else a part that loads late takes the focus
    page.keyboard.press("Tab")
    for _ in range(10):
        if page.evaluate("document.activeElement.tagName") == "TEXTAREA":
            break
        page.keyboard.press("Tab")
    page.keyboard.type(PROMPTS[0])
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "predict":
            break
    page.keyboard.press("Enter")
    predictions = read_predictions(wait_for_cards(page))
    static = Predictor.from_pretrained("static")
    expected = dict(zip(static.targets, static.predict([PROMPTS[0]])[0].tolist(), strict=True))
    assert predictions == pytest.approx(expected, abs=5.1e-4)
    page.wait_for_selector("#status [aria-live=polite] > [role=status]")  # read aloud
    # Gradio's own words are translated.
    page.wait_for_function("() => !document.body.innerText.includes('common.')")


def test_link_restores_prompts_without_sending_them(demo, make_visitor):
    person = make_visitor(permissions=["clipboard-read", "clipboard-write"])
    page = person.open(demo.url)
    page.locator("#box textarea").fill("\n".join(PROMPTS))
    page.get_by_label("mean_hbpp").check()
    page.click("#predict")
    wait_for_cards(page, 2)
    assert page.url == make_link(demo.url, *PROMPTS, more="&explain=mean_hbpp")
    page.click("#link")
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    other = make_visitor()
    page = other.open(copied)
    cards = wait_for_cards(page, 2)
    assert [one.strip() for one in cards.locator("h2").all_inner_texts()] == list(PROMPTS)
    assert page.get_by_label("mean_hbpp").is_checked()
    assert cards.first.get_by_text("mean over models (mean_hbpp)").first.is_visible()
    page.goto(make_link(demo.url, "a red cat"))  # in the same tab
    page.get_by_role("heading", name="a red cat").wait_for()
    assert not [url for one in (person, other) for url in one.requests if "surfboard" in url]


def test_keeps_text_typed_before_page_is_ready(demo, make_visitor):
    page = make_visitor().open(f"{demo.url}/theme.css")  # loads no script of the page
    page.goto(demo.url, wait_until="commit")
    page.locator("#box textarea").fill(PROMPTS[0])
    page.wait_for_load_state("networkidle")
    assert page.locator("#box textarea").input_value() == PROMPTS[0]
    wait_for_cards(page)  # predicted after a pause in typing


def test_escapes_prompts_of_link(demo, make_visitor):
    hostile = "<img src=x onerror=window.hacked=1> ${window.hacked=2} {{ value }}"
    page = make_visitor().open(make_link(demo.url, hostile, *["b"] * 3, more="&explain=nonsense"))
    cards = wait_for_cards(page, 4)
    assert cards.locator("h2").first.inner_text().strip() == hostile
    assert page.evaluate("window.hacked") is None


def test_file_becomes_sortable_table(demo, make_visitor, tmp_path):
    rows = "".join(f"{n},{n} dogs on a beach\n" for n in range(1, 61))
    (tmp_path / "mine.csv").write_text(f"id,prompt\n{rows}")
    page = make_visitor().open(demo.url)
    page.set_input_files("#file", tmp_path / "mine.csv")
    page.wait_for_function("document.querySelector('#box textarea').value.includes('60 dogs')")
    page.click("#predict")
    page.get_by_role("heading", name="60 prompts").wait_for()
    with page.expect_download() as download:
        page.click("#answer .as-csv")
    rows = download.value.path().read_text("utf-8").splitlines()
    assert rows[0].startswith("id,prompt,alignment,") and len(rows) == 61
    url = page.url
    page.close()
    page = make_visitor().open(url)
    page.get_by_role("heading", name="60 prompts").wait_for()
    ranks = page.locator("#answer td:nth-child(3)")
    button = page.get_by_role("button", name="easier than (of 100 user prompts)")
    for click, factor in (("ascending", 1), ("descending", -1)):
        button.click()
        page.wait_for_selector(f"#answer th[aria-sort={click}]")
        values = [factor * float(text) for text in ranks.all_inner_texts()]
        assert len(values) == 60 and values == sorted(values)
    page.get_by_role("button", name="prompt", exact=True).click()
    texts = page.locator("#answer tbody th").all_inner_texts()
    assert texts[0] == "1 dogs on a beach" and texts[1] == "10 dogs on a beach"


def show_error(page, url):
    page.wait_for_selector("#predict")
    page.click("#predict")
    page.wait_for_selector("#status [role=alert]")


def show_cards(page, url):
    page.goto(make_link(url, *PROMPTS, "qwx zzyv 77"))
    wait_for_cards(page, 3)
    page.set_viewport_size({"width": 1280, "height": 1560})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        wait_for_scheme(page, scheme)
        save_screenshot(page, f"demo_{scheme}.png")
    for summary in page.locator("#answer summary").all():
        summary.click()
    assert page.locator("#answer .words mark").count() > 8


def show_list(page, url):
    page.locator("#box textarea").fill("\n".join(["a red cat", "qwx zzyv 77"] * 30))
    page.click("#predict")
    page.get_by_role("heading", name="60 prompts").wait_for()


@pytest.mark.daily
@pytest.mark.parametrize(
    "show",
    [lambda page, url: page.wait_for_selector("#predict"), show_error, show_cards, show_list],
)
def test_states_are_accessible(demo, make_visitor, show):
    page = make_visitor().open(demo.url)
    show(page, demo.url)
    problems = find_barriers(page)
    assert not problems, "\n".join(problems)


def send_malformed(url):
    """Send requests that no page sends: too few inputs, an unknown target, a file."""
    inputs = ([SECRET], [SECRET, SECRET], SECRET, [{"path": SECRET}, "alignment"])
    for data in inputs:
        httpx.post(f"{url}/gradio_api/run/predict", json={"data": data})
        answer = httpx.post(f"{url}/gradio_api/call/predict", json={"data": data}).json()
        if "event_id" in answer:
            httpx.get(f"{url}/gradio_api/call/predict/{answer['event_id']}", timeout=30)
    with contextlib.suppress(httpx.RemoteProtocolError):  # the stream ends early
        httpx.get(f"{url}/gradio_api/call/predict/nobody", timeout=30)
    response = httpx.post(f"{url}/gradio_api/upload", files={"files": ("a.txt", SECRET.encode())})
    assert response.status_code == 413


@pytest.mark.daily
def test_space_neither_logs_nor_stores_prompts(make_visitor, tmp_path):
    app = build_predictor_space("static")["app.py"].decode()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    with serve_page(app, tmp_path, GRADIO_SERVER_PORT=port) as served:
        page = make_visitor().open(make_link(served.url, SECRET))
        wait_for_cards(page)
        page.locator("#box textarea").fill("\n".join([SECRET] * 9 + ["x" * 1001]))
        page.click("#predict")
        page.wait_for_selector("#status [role=alert]")
        page.locator("#box textarea").fill("\n".join([SECRET] * 9))
        page.click("#predict")
        page.get_by_text("9 prompts").first.wait_for()
        send_malformed(served.url)
        log = served.stop()
        assert served.outside_requests == []
    assert "torch is imported: False" in log
    assert "walrus" not in log and "Traceback" not in log
    # Defects are logged without their messages.
    assert re.search(r"ValueError in \S+, line \d+$", log, re.M)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if b"walrus" in path.read_bytes()]


def test_predicts_after_pause_in_typing(demo, make_visitor):
    page = make_visitor().open(demo.url)
    page.locator("#box textarea").press_sequentially("nine red dogs")
    wait_for_cards(page, 1)
    page.locator("#box textarea").press_sequentially(" on a table\na cat")
    wait_for_cards(page, 2)


def test_click_on_example_predicts(demo, make_visitor):
    page = make_visitor().open(demo.url)
    page.locator("#examples").get_by_role("button", name="silence").click()
    assert "silence" in wait_for_cards(page).locator("h2").inner_text()
    assert "silence" in page.url
