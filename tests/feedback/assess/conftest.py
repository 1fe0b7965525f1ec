"""A browser page that is opened from a file."""

import pytest
from support.browser import browser  # noqa: F401


@pytest.fixture
def open_page(browser):  # noqa: F811
    """Open a file, and return the page and the URLs of its requests; errors fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    problems, requests = [], []
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("request", lambda request: requests.append(request.url))

    def open_file(path):
        page = context.new_page()
        page.goto(path.as_uri())
        return page, requests

    yield open_file
    context.close()
    assert not problems and all(url.startswith(("file:", "data:")) for url in requests)
