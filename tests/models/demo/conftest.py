"""Fixtures: a browser, and the page that `pqpp demo --serve` serves."""

import pytest
from support.browser import browser, make_visitor
from support.served_page import serve_page

__all__ = ["browser", "make_visitor"]
SERVE = "from pqpp_cli.main import main\nmain(['demo', '--serve', '--port', '0'])"


@pytest.fixture(scope="package")
def demo(tmp_path_factory):
    pytest.importorskip("gradio")
    with serve_page(SERVE, tmp_path_factory.mktemp("page")) as page:
        yield page
