"""A real Chromium for tests, and checks of every page.

`from support.browser import browser, visitor` in a conftest gives its tests the two fixtures.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome", "google-chrome-stable")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def chromium() -> str:
    """Return the path of the browser; without one skip, or fail if PQPP_BROWSER is set."""
    named = os.environ.get("PQPP_BROWSER", "")
    found = next(filter(None, map(shutil.which, (named, *NAMES))), None)
    if found is None:
        reason = "apt-get install chromium-headless-shell, or name a Chromium by PQPP_BROWSER"
        if named:
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a file; it excludes a second one and a loop of asyncio."""
    path = chromium()
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`")
    with playwright.sync_playwright() as tools:
        yield (
            found := tools.chromium.launch(
                executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
        )
        found.close()


class Visitor:
    """A person with a separate browser: pages, their errors and their requests."""

    def __init__(self, browser, **how):
        self.context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce"} | how)
        self.context.set_default_timeout(60_000)
        self.problems, self.asked = [], []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.context.on("weberror", lambda error: self.problems.append(str(error.error)))
        self.context.on("console", self._heard)

    def _heard(self, message):
        # The browser itself logs lost connections and statuses of refusals.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def open(self, url):
        """Open a page in a new tab."""
        page = self.context.new_page()
        page.goto(url)
        return page

    def join(self, link):
        """Follow an invitation, agree without looking, and open the first item."""
        base, asks = link.partition("/join/")[0], self.context.request
        csrf = re.search(r'name="csrf" value="([^"]+)"', asks.get(link).text())[1]
        asks.post(link, form={"csrf": csrf, "agree": "yes"}, max_redirects=0)
        return self.ready(self.open(f"{base}/work"))

    def ready(self, page):
        """Wait until the script of the work page has shown an item."""
        page.wait_for_selector("html[data-ready]")
        return page


@pytest.fixture
def visitor(browser):
    """A function that returns a new `Visitor`; no page may have errors or ask other hosts."""
    visitors = []

    def make(**how):
        visitors.append(Visitor(browser, **how))
        return visitors[-1]

    yield make
    problems = [problem for person in visitors for problem in person.problems]
    asked = [url for person in visitors for url in person.asked]
    for person in visitors:
        person.context.close()
    assert not problems
    outside = [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
    assert not outside


def violations(page) -> list[str]:
    """Return axe's findings on a page, a line each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    return [
        f"{one['id']}: {node['html'][:150]} {node.get('failureSummary', '')[:300]}"
        for one in found.response["violations"]
        for node in one["nodes"]
    ]


def in_every_look(page):
    """Make a page wide and light, then narrow and dark; yield the name of each look."""
    for size, scheme in ((WIDE, "light"), (NARROW, "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        yield f"{size['width']} px, {scheme}"


def saved(page):
    """Wait until the page says that all is saved."""
    page.wait_for_selector("#saved[data-state='saved'][data-waiting='0']")


def picture(page, path: Path) -> None:
    """Save a screenshot if `PQPP_SCREENSHOTS` names a folder."""
    folder = os.environ.get("PQPP_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / path)
