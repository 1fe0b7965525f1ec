"""A real Chromium for tests, and checks of every page.

`from support.browser import browser, make_visitor` in a conftest gives its tests the two fixtures.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome", "google-chrome-stable")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def find_chromium() -> str:
    """Return the path of the browser; without one skip, or fail if PQPP_BROWSER is set."""
    choice = os.environ.get("PQPP_BROWSER", "")
    path = next(filter(None, map(shutil.which, (choice, *NAMES))), None)
    if path is None:
        reason = "apt-get install chromium-headless-shell, or name a Chromium by PQPP_BROWSER"
        if choice:
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a file; it excludes a second one and a loop of asyncio."""
    path = find_chromium()
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`")
    with playwright.sync_playwright() as tools:
        yield (
            chromium := tools.chromium.launch(
                executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
        )
        chromium.close()


class Visitor:
    """A person with a separate browser: pages, their errors and their requests."""

    def __init__(self, browser, **extra):
        self.context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce"} | extra)
        self.context.set_default_timeout(60_000)
        self.problems, self.requests = [], []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("weberror", lambda error: self.problems.append(str(error.error)))
        self.context.on("console", self._record_error)

    def _record_error(self, message):
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
        base, client = link.partition("/join/")[0], self.context.request
        csrf = re.search(r'name="csrf" value="([^"]+)"', client.get(link).text())[1]
        client.post(link, form={"csrf": csrf, "agree": "yes"}, max_redirects=0)
        return self.wait_until_ready(self.open(f"{base}/work"))

    def wait_until_ready(self, page):
        """Wait until the script of the work page has shown an item."""
        page.wait_for_selector("html[data-ready]")
        return page


@pytest.fixture
def make_visitor(browser):
    """A function that returns a new `Visitor`; no page may have errors or ask other hosts."""
    visitors = []

    def make(**options):
        visitors.append(Visitor(browser, **options))
        return visitors[-1]

    yield make
    problems = [problem for person in visitors for problem in person.problems]
    urls = [url for person in visitors for url in person.requests]
    for user in visitors:
        user.context.close()
    assert not problems
    outside = [url for url in urls if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
    assert not outside


def run_axe(page) -> list[str]:
    """Return axe's findings on a page, a line each."""
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {node['html'][:150]} {node.get('failureSummary', '')[:300]}"
        for rule in results.response["violations"]
        for node in rule["nodes"]
    ]


def iterate_modes(page):
    """Make a page wide and light, then narrow and dark; yield the name of each look."""
    for size, scheme in ((WIDE, "light"), (NARROW, "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        yield f"{size['width']} px, {scheme}"


def wait_until_saved(page):
    """Wait until the page says that all is saved."""
    page.wait_for_selector("#saved[data-state='saved'][data-waiting='0']")


def save_screenshot(page, name: Path) -> None:
    """Save a screenshot if `PQPP_SCREENSHOTS` names a folder."""
    folder = os.environ.get("PQPP_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / name)
