"""A browser that opens pages from files."""

import pytest
from support.browser import browser  # noqa: F401


@pytest.fixture
def opened(browser):  # noqa: F811
    """A function that opens a file, and gives the page and what it asked for; no error is met."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    problems, asked = [], []
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("request", lambda request: asked.append(request.url))

    def come(path):
        page = context.new_page()
        page.goto(path.as_uri())
        return page, asked

    yield come
    context.close()
    assert not problems and all(url.startswith(("file:", "data:")) for url in asked)
