"""A browser for the pages of reports, which must not request anything."""

import pytest
from support.browser import browser, iterate_modes, run_axe  # noqa: F401

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture
def open_page(browser):  # noqa: F811
    """A function that opens HTML in the browser, and checks it in every look."""
    context = browser.new_context(java_script_enabled=True)
    requests, errors = [], []
    context.on("request", lambda request: requests.append(request.url))
    context.on("weberror", lambda error: errors.append(str(error.error)))

    def open_html(text, check_looks=True):
        page = context.new_page()
        page.set_content(text)
        for look in iterate_modes(page) if check_looks else ():
            assert not run_axe(page), look
            assert page.evaluate(FITS), look
        return page

    yield open_html
    context.close()
    assert not errors and all(url.startswith("data:") for url in requests)
