"""Studies that are served while a test lasts."""

import contextlib

import pytest
from support.kind_pages import kind_study
from support.served import serving


@pytest.fixture
def serve(tmp_path):
    """A function that makes a study of a kind and serves it until the test ends."""
    with contextlib.ExitStack() as ends:
        yield lambda kind, **how: ends.enter_context(serving(kind_study(tmp_path, kind, **how)))
