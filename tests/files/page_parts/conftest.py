"""A browser for the pages of reports, which ask for nothing."""

import pytest
from support.browser import browser, in_every_look, violations  # noqa: F401

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture
def shown(browser):  # noqa: F811
    """A function that opens a page of HTML, looks at it in every look, and gives it."""
    context = browser.new_context(java_script_enabled=True)
    asked, problems = [], []
    context.on("request", lambda request: asked.append(request.url))
    context.on("weberror", lambda error: problems.append(str(error.error)))

    def come(text, looked_at=True):
        page = context.new_page()
        page.set_content(text)
        for look in in_every_look(page) if looked_at else ():
            assert not violations(page), look
            assert page.evaluate(FITS), look
        return page

    yield come
    context.close()
    assert not problems and all(url.startswith("data:") for url in asked)
