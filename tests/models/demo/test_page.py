"""The page in a real browser: keys, links, looks, and who learns what is typed."""

import contextlib
import re
import socket
from urllib.parse import quote_plus

import httpx
import pytest
from support.browser import picture
from support.served_page import barriers, serving_page, wait_for_scheme

from pqpp_models import Predictor
from pqpp_models.demo.page import build_predictor_space

pytestmark = pytest.mark.browser
SECRET = "a walrus juggles seventeen teapots"
TWO = ("a man riding a wave on a surfboard", "two men in suits juggle seven oranges")


def link(url, *prompts, more=""):
    return f"{url}/#" + "&".join(f"prompt={quote_plus(one)}" for one in prompts) + more


def answered(page, count=1):
    page.wait_for_function(f"document.querySelectorAll('#answer .card').length == {count}")
    return page.locator("#answer .card")


def numbers(card):
    """The predictions of a card by target."""
    card.get_by_text("All targets").click()
    rows = card.locator("table").first.locator("tbody tr:not(.group)")
    names = rows.locator("th small").all_inner_texts()
    values = rows.locator("td b").all_inner_texts()
    return {name.strip(): float(value) for name, value in zip(names, values, strict=True)}


def test_keys_alone_get_an_answer(served, visitor):
    page = visitor().open(served.url)
    page.wait_for_selector("#box textarea")
    page.wait_for_load_state("networkidle")  # else a late part takes the focus
    page.keyboard.press("Tab")
    for _ in range(10):
        if page.evaluate("document.activeElement.tagName") == "TEXTAREA":
            break
        page.keyboard.press("Tab")
    page.keyboard.type(TWO[0])
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "predict":
            break
    page.keyboard.press("Enter")
    found = numbers(answered(page))
    static = Predictor.from_pretrained("static")
    expected = dict(zip(static.targets, static.predict([TWO[0]])[0].tolist(), strict=True))
    assert found == {name: pytest.approx(value, abs=5.1e-4) for name, value in expected.items()}
    page.wait_for_selector("#status [aria-live=polite] > [role=status]")  # read aloud
    # Gradio's own words are translated.
    page.wait_for_function("() => !document.body.innerText.includes('common.')")


def test_a_link_holds_the_prompts_and_is_kept_from_the_server(served, visitor):
    person = visitor(permissions=["clipboard-read", "clipboard-write"])
    page = person.open(served.url)
    page.locator("#box textarea").fill("\n".join(TWO))
    page.get_by_label("mean_hbpp").check()
    page.click("#predict")
    answered(page, 2)
    assert page.url == link(served.url, *TWO, more="&explain=mean_hbpp")
    page.click("#link")
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    other = visitor()
    page = other.open(copied)
    cards = answered(page, 2)
    assert [one.strip() for one in cards.locator("h2").all_inner_texts()] == list(TWO)
    assert page.get_by_label("mean_hbpp").is_checked()
    assert cards.first.get_by_text("mean over models (mean_hbpp)").first.is_visible()
    page.goto(link(served.url, "a red cat"))  # in the same tab
    page.get_by_role("heading", name="a red cat").wait_for()
    assert not [url for one in (person, other) for url in one.asked if "surfboard" in url]


def test_who_types_at_once_is_not_interrupted(served, visitor):
    page = visitor().open(f"{served.url}/theme.css")  # nothing of the page is there yet
    page.goto(served.url, wait_until="commit")
    page.locator("#box textarea").fill(TWO[0])
    page.wait_for_load_state("networkidle")
    assert page.locator("#box textarea").input_value() == TWO[0]
    answered(page)  # predicted after a pause in typing


def test_a_strange_link_does_no_harm(served, visitor):
    strange = "<img src=x onerror=window.hacked=1> ${window.hacked=2} {{ value }}"
    page = visitor().open(link(served.url, strange, *["b"] * 3, more="&explain=nonsense"))
    cards = answered(page, 4)
    assert cards.locator("h2").first.inner_text().strip() == strange
    assert page.evaluate("window.hacked") is None


def test_a_file_becomes_a_table_to_sort_a_link_and_a_file(served, visitor, tmp_path):
    numbers = [*range(1, 61)]
    (tmp_path / "mine.csv").write_text(
        "id,prompt\n" + "".join(f"{n},{n} dogs on a beach\n" for n in numbers)
    )
    page = visitor().open(served.url)
    page.set_input_files("#file", tmp_path / "mine.csv")
    page.wait_for_function("document.querySelector('#box textarea').value.includes('60 dogs')")
    page.click("#predict")
    page.get_by_role("heading", name="60 prompts").wait_for()
    with page.expect_download() as download:
        page.click("#answer .as-csv")
    rows = download.value.path().read_text("utf-8").splitlines()
    assert rows[0].startswith("id,prompt,alignment,") and len(rows) == 61
    linked = page.url
    page.close()
    page = visitor().open(linked)
    page.get_by_role("heading", name="60 prompts").wait_for()
    ranks = page.locator("#answer td:nth-child(3)")
    button = page.get_by_role("button", name="easier than (of 100 user prompts)")
    for click, factor in (("ascending", 1), ("descending", -1)):
        button.click()
        page.wait_for_selector(f"#answer th[aria-sort={click}]")
        shown = [factor * float(text) for text in ranks.all_inner_texts()]
        assert len(shown) == 60 and shown == sorted(shown)
    page.get_by_role("button", name="prompt", exact=True).click()
    texts = page.locator("#answer tbody th").all_inner_texts()
    assert texts[0] == "1 dogs on a beach" and texts[1] == "10 dogs on a beach"


def refused(page, url):
    page.wait_for_selector("#predict")
    page.click("#predict")
    page.wait_for_selector("#status [role=alert]")


def side_by_side(page, url):
    page.goto(link(url, *TWO, "qwx zzyv 77"))
    answered(page, 3)
    page.set_viewport_size({"width": 1280, "height": 1560})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        wait_for_scheme(page, scheme)
        picture(page, f"demo_{scheme}.png")
    for summary in page.locator("#answer summary").all():
        summary.click()
    assert page.locator("#answer .words mark").count() > 8


def listed(page, url):
    page.locator("#box textarea").fill("\n".join(["a red cat", "qwx zzyv 77"] * 30))
    page.click("#predict")
    page.get_by_role("heading", name="60 prompts").wait_for()


@pytest.mark.daily
@pytest.mark.parametrize(
    "shown", [lambda page, url: page.wait_for_selector("#predict"), refused, side_by_side, listed]
)
def test_it_is_no_barrier(served, visitor, shown):
    page = visitor().open(served.url)
    shown(page, served.url)
    found = barriers(page)
    assert not found, "\n".join(found)


def send_malformed(url):
    """Ask as no page does: too few inputs, a target that there is not, a file."""
    inputs = ([SECRET], [SECRET, SECRET], SECRET, [{"path": SECRET}, "alignment"])
    for data in inputs:
        httpx.post(f"{url}/gradio_api/run/predict", json={"data": data})
        told = httpx.post(f"{url}/gradio_api/call/predict", json={"data": data}).json()
        if "event_id" in told:
            httpx.get(f"{url}/gradio_api/call/predict/{told['event_id']}", timeout=30)
    with contextlib.suppress(httpx.RemoteProtocolError):  # it ends in the middle
        httpx.get(f"{url}/gradio_api/call/predict/nobody", timeout=30)
    refused = httpx.post(f"{url}/gradio_api/upload", files={"files": ("a.txt", SECRET.encode())})
    assert refused.status_code == 413


@pytest.mark.daily
def test_a_space_neither_logs_nor_keeps_what_is_typed(visitor, tmp_path):
    app = build_predictor_space("static")["app.py"].decode()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with serving_page(app, tmp_path, GRADIO_SERVER_PORT=port) as served:
        page = visitor().open(link(served.url, SECRET))
        answered(page)
        page.locator("#box textarea").fill("\n".join([SECRET] * 9 + ["x" * 1001]))
        page.click("#predict")
        page.wait_for_selector("#status [role=alert]")
        page.locator("#box textarea").fill("\n".join([SECRET] * 9))
        page.click("#predict")
        page.get_by_text("9 prompts").first.wait_for()
        send_malformed(served.url)
        said = served.stop()
        assert served.asked_outside == []
    assert "torch is imported: False" in said
    assert "walrus" not in said and "Traceback" not in said
    assert re.search(r"ValueError in \S+, line \d+$", said, re.M)  # a defect is told by its kind
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"walrus" in path.read_bytes()]


def test_it_answers_after_a_pause_in_typing(served, visitor):
    page = visitor().open(served.url)
    page.locator("#box textarea").press_sequentially("nine red dogs")
    answered(page, 1)
    page.locator("#box textarea").press_sequentially(" on a table\na cat")
    answered(page, 2)


def test_an_example_is_predicted_on_a_click(served, visitor):
    page = visitor().open(served.url)
    page.locator("#examples").get_by_role("button", name="silence").click()
    assert "silence" in answered(page).locator("h2").inner_text()
    assert "silence" in page.url
