"""Fixtures: a browser, and the page that `pqpp demo --serve` serves."""

import pytest
from support.browser import browser, visitor
from support.served_page import serving_page

__all__ = ["browser", "visitor"]
SERVE = "from pqpp_cli.main import main\nmain(['demo', '--serve', '--port', '0'])"


@pytest.fixture(scope="package")
def served(tmp_path_factory):
    pytest.importorskip("gradio")
    with serving_page(SERVE, tmp_path_factory.mktemp("page")) as page:
        yield page
