"""Studies that are served while the tests of the pages last, one for all that want the same."""

import contextlib

import pytest
from support.kind_pages import kind_study
from support.served import serving


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """A function that makes a study of a kind, for many people, and serves it."""
    studies = {}
    with contextlib.ExitStack() as ends:

        def serve(kind, **how):
            about = repr((kind, how))
            if about not in studies:
                study = kind_study(tmp_path_factory.mktemp(kind), kind, people_per_item=99, **how)
                studies[about] = ends.enter_context(serving(study))
            return studies[about]

        yield serve
